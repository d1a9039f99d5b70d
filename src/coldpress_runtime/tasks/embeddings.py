"""Text → embeddings: the plain shape, and the one that OpenAI's clients speak."""

from coldpress_runtime.faults import BadRequest
from coldpress_runtime.jsontext import quote
from coldpress_runtime.tasks.reader import Reader
from coldpress_runtime.tasks.texts import fields, flag, merged, shown, texts, together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from coldpress_runtime.engines import Output
    from coldpress_runtime.model import Model
    from coldpress_runtime.tasks import Route

    Render = Callable[[Output, int, int], str]


class Embeddings:
    def __init__(self, model: "Model") -> None:
        self._reader = Reader(model)
        self.batch_limit: int = self._reader.limits["texts"]
        spec = model.spec
        self._name: str = spec["name"]
        self._dimensions: int = spec["dimensions"]
        self._pooled: bool = spec["pooling"] != "none"
        self._prompts: dict[str, str] = spec.get("prompts", {})
        self._prompt: str | None = spec.get("prompt")
        self.routes: dict[str, Route] = {"/": self.plain}
        if self._pooled:
            self.routes["/v1/embeddings"] = self.openai

    def plain(self, request: object, room: int) -> str:
        return '{"embeddings": [' + ", ".join(self._plain(request, room)) + "]}"

    def batch_key(self, body: "Mapping[str, object]") -> str | None:
        return together(body, "text")

    def many(self, bodies: "Sequence[Mapping[str, object]]", room: int) -> list[str]:
        return [f'{{"embeddings": [{row}]}}' for row in self._plain(merged(bodies, "text"), room * len(bodies))]

    def _plain(self, request: object, room: int) -> list[str]:
        body = fields(request, '{"text": "…"}')
        many = self._prompted(body, texts(body, "text", self._reader.limits))
        ids = self._reader.singles(many, "text", flag(body, "truncate", True))
        return self._rows(ids, self._numbers if self._pooled else self._nested, room, "text")

    def openai(self, request: object, room: int) -> str:
        body = fields(request, '{"input": "…", "model": "…"}')
        many = self._prompted(body, texts(body, "input", self._reader.limits))
        render = self._render(body)
        ids = self._reader.singles(many, "input")
        rows = self._rows(ids, render, room - 64 * len(many), "input")
        data = ", ".join(
            f'{{"object": "embedding", "index": {at}, "embedding": {row}}}' for at, row in enumerate(rows)
        )
        tokens = sum(map(len, ids))
        return (
            f'{{"object": "list", "data": [{data}], "model": {quote(self._name)}, '
            f'"usage": {{"prompt_tokens": {tokens}, "total_tokens": {tokens}}}}}'
        )

    def _prompted(self, body: "Mapping[str, object]", many: list[str]) -> list[str]:
        """Texts with what the model was trained to see before them: the usual prompt, or the one that is named."""
        name = body.get("prompt_name", self._prompt)
        if name is None:
            return many
        if name not in self._prompts:
            known = ", ".join(self._prompts) or "none"
            raise BadRequest(400, "unsupported_value", f"'prompt_name' is {shown(name)}; this model has: {known}")
        return [self._prompts[name] + text for text in many]

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

    def _rows(self, ids: list[list[int]], render: "Render", room: int, field: str) -> list[str]:
        """One JSON value per text, in the asked order, as long as they fit into `room` bytes."""
        rows = [""] * len(ids)
        used = 0
        for done, (at, output, start, stop) in enumerate(self._reader.rows(ids), 1):
            rows[at] = render(output, start, stop)
            used += len(rows[at]) + 2
            if used > room:
                fit = max(1, int(done * room / used))
                raise BadRequest(
                    413,
                    "answer_too_large",
                    f"the answer to {len(ids)} texts would pass the limit of {room} bytes; "
                    f"about {fit} of them fit: send {field!r} in parts",
                )
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
