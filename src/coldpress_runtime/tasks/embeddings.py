"""Text → embeddings: the plain shape, and the one that OpenAI's clients speak."""

from coldpress_runtime.faults import BadRequest
from coldpress_runtime.jsontext import quote
from coldpress_runtime.tasks.texts import fields, flag, shown, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from coldpress_runtime.engines import Output, Session
    from coldpress_runtime.model import Model
    from coldpress_runtime.tasks import Route

    Render = Callable[[Output, int, int], str]


class Embeddings:
    def __init__(self, model: "Model") -> None:
        assert model.tokenizer is not None
        self._encode = model.tokenizer.encode
        self._session: Session = model.session
        spec = model.spec
        self._name: str = spec["name"]
        self._limits: dict[str, int] = spec["limits"]
        self._max_tokens: int = spec["max_tokens"]
        self._dimensions: int = spec["dimensions"]
        self._pooled: bool = spec["pooling"] != "none"
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
        encoded = self._encode(many)
        for at, (_, cut) in enumerate(encoded):
            if cut and not truncate:
                raise BadRequest(
                    413,
                    "text_too_long",
                    f"{field}[{at}] has more than {self._max_tokens} tokens, the model's limit: "
                    "shorten it, or leave 'truncate' out to use its beginning",
                )
        return [ids for ids, _ in encoded]

    def _rows(self, ids: list[list[int]], render: "Render", room: int, field: str) -> list[str]:
        """One JSON value per text, in the asked order, as long as they fit into `room` bytes."""
        rows = [""] * len(ids)
        used = done = 0
        for batch in _batches(ids, self._limits["batch_tokens"]):
            output = self._session.run([ids[at] for at in batch])
            try:
                for place, at in enumerate(batch):
                    rows[at] = render(output, *output.row(place))
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

    def _numbers(self, output: "Output", start: int, stop: int) -> str:
        return output.json(start, stop)

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
