"""Text → embeddings: the plain shape, and the one that OpenAI's clients speak."""

from coldpress_runtime.faults import BadRequest, EngineError
from coldpress_runtime.jsontext import quote
from coldpress_runtime.tasks.texts import fields, flag, shown, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from coldpress_runtime.engines import Output
    from coldpress_runtime.model import Model
    from coldpress_runtime.tasks import Route

    Render = Callable[[Output, int, int], str]


class Embeddings:
    def __init__(self, model: "Model") -> None:
        self._model = model
        spec = model.spec
        self._name: str = spec["name"]
        self._limits: dict[str, int] = spec["limits"]
        self._max_tokens: int = spec["max_tokens"]
        self._pad: int = spec["pad_id"]
        self._dimensions: int = spec["dimensions"]
        self._pooled: bool = spec["pooling"] != "none"
        self._format = ("%.9g," * self._dimensions)[:-1]
        self.routes: dict[str, Route] = {"/": self.plain}
        if self._pooled:
            self.routes["/v1/embeddings"] = self.openai

    def plain(self, request: object, room: int) -> str:
        body = fields(request, '{"text": "…"}')
        many = texts(body, "text", self._limits)
        ids = self._tokenize(many, "text", flag(body, "truncate", True))
        rows = self._rows(ids, self._numbers if self._pooled else self._nested, room, "text")
        return '{"embeddings": [' + ", ".join(rows) + "]}"

    def openai(self, request: object, room: int) -> str:
        body = fields(request, '{"input": "…", "model": "…"}')
        many = texts(body, "input", self._limits)
        render = self._render(body)
        ids = self._tokenize(many, "input", True)
        rows = self._rows(ids, render, room - 64 * len(many), "input")
        data = ", ".join(
            f'{{"object": "embedding", "index": {at}, "embedding": {row}}}' for at, row in enumerate(rows)
        )
        tokens = sum(map(len, ids))
        return (
            f'{{"object": "list", "data": [{data}], "model": {quote(self._name)}, '
            f'"usage": {{"prompt_tokens": {tokens}, "total_tokens": {tokens}}}}}'
        )

    def _render(self, body: "Mapping[str, object]") -> "Render":
        dimensions = body.get("dimensions")
        if dimensions is not None and dimensions != self._dimensions:
            raise BadRequest(
                400,
                "unsupported_value",
                f"'dimensions' is {shown(dimensions)}; this model gives {self._dimensions} and no other",
            )
        encoding = body.get("encoding_format") or "float"
        if encoding == "float":
            return self._numbers
        if encoding == "base64":
            return self._base64
        raise BadRequest(
            400, "unsupported_value", f"'encoding_format' is {shown(encoding)}; it can be: float, base64"
        )

    def _tokenize(self, many: list[str], field: str, truncate: bool) -> list[list[int]]:
        encodings = self._model.tokenizer.encode_batch(many)
        if not truncate:
            for at, encoding in enumerate(encodings):
                if encoding.overflowing:
                    raise BadRequest(
                        413,
                        "text_too_long",
                        f"{field}[{at}] has more than {self._max_tokens} tokens, the model's limit: "
                        "shorten it, or leave 'truncate' out to use its beginning",
                    )
        return [encoding.ids for encoding in encodings]

    def _rows(self, ids: list[list[int]], render: "Render", room: int, field: str) -> list[str]:
        """One JSON value per text, in the asked order, as long as they fit into `room` bytes."""
        rows = [""] * len(ids)
        used = done = 0
        for batch in _batches(ids, self._limits["batch_tokens"]):
            longest = len(ids[batch[-1]])
            output = self._run([ids[at] for at in batch], longest)
            try:
                width = self._dimensions if self._pooled else longest * self._dimensions
                for place, at in enumerate(batch):
                    start = place * width
                    # A hidden state is asked for the text's own tokens, never for its padding.
                    length = width if self._pooled else len(ids[at]) * self._dimensions
                    rows[at] = render(output, start, start + length)
                    used += len(rows[at]) + 2
                    done += 1
                    if used > room:
                        fit = max(1, int(done * room / used))
                        raise BadRequest(
                            413,
                            "answer_too_large",
                            f"the answer to {len(ids)} texts would pass the limit of {room} bytes; "
                            f"about {fit} of them fit: send {field!r} in parts",
                        )
            finally:
                output.close()
        return rows

    def _run(self, batch: list[list[int]], longest: int) -> "Output":
        ids: list[int] = []
        mask: list[int] = []
        for one in batch:
            padding = longest - len(one)
            ids += one
            mask += [1] * len(one)
            if padding:
                ids += [self._pad] * padding
                mask += [0] * padding
        return self._model.session.run([ids, mask], (len(batch), longest))

    def _numbers(self, output: "Output", start: int, stop: int) -> str:
        # Nine significant digits read back as the same float32, always.
        text = self._format % tuple(output.floats(start, stop))
        if "n" in text:  # nan or inf
            raise EngineError("the model answered with a value that is not a finite number")
        return f"[{text}]"

    def _nested(self, output: "Output", start: int, stop: int) -> str:
        step = self._dimensions
        return f"[{','.join(self._numbers(output, at, at + step) for at in range(start, stop, step))}]"

    def _base64(self, output: "Output", start: int, stop: int) -> str:
        from binascii import b2a_base64

        self._numbers(output, start, stop)
        return f'"{b2a_base64(output.raw(start, stop), newline=False).decode()}"'


def _batches(ids: list[list[int]], budget: int) -> "Iterator[list[int]]":
    """Indexes in groups of like length, so that padding stays small and memory bounded."""
    batch: list[int] = []
    for at in sorted(range(len(ids)), key=lambda at: len(ids[at])):
        if batch and (len(batch) + 1) * len(ids[at]) > budget:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch
