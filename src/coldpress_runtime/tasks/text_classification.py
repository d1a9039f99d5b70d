"""Text, or a pair of texts → labels with scores, as transformers' text-classification gives them."""

from coldpress_runtime.faults import BadRequest
from coldpress_runtime.jsontext import dumps
from coldpress_runtime.tasks.reader import Reader
from coldpress_runtime.tasks.scores import FUNCTIONS, apply, choice, count, number, ranked
from coldpress_runtime.tasks.texts import fields, flag, merged, texts, together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coldpress_runtime.model import Model
    from coldpress_runtime.tasks import Route


class TextClassification:
    def __init__(self, model: "Model") -> None:
        self._reader = Reader(model)
        self.batch_limit: int = self._reader.limits["texts"]
        self._labels: list[str] = model.spec["labels"]
        self._function: str = model.spec["function"]
        self.routes: dict[str, Route] = {"/": self.plain}

    def plain(self, request: object, room: int) -> str:
        body = fields(request, '{"text": "…"}')
        top = count(body, "top_k", 1)
        function = choice(body, "function_to_apply", self._function, FUNCTIONS)
        logits = self._logits(body)
        if flag(body, "logits", False):
            return dumps({"logits": [[number(one) for one in row] for row in logits]})
        answers = [ranked(self._labels, apply(function, row)) for row in logits]
        if "top_k" not in body:
            return dumps([row[0] for row in answers])
        cut = [row[:top] for row in answers]
        return dumps(cut[0] if isinstance(body["text"], str) else cut)

    def batch_key(self, body: "Mapping[str, object]") -> str | None:
        return None if body.get("text_pair") is not None else together(body, "text")

    def many(self, bodies: "Sequence[Mapping[str, object]]", room: int) -> list[str]:
        body = merged(bodies, "text")
        top = count(body, "top_k", 1)
        function = choice(body, "function_to_apply", self._function, FUNCTIONS)
        logits = self._logits(body)
        if flag(body, "logits", False):
            return [dumps({"logits": [[number(one) for one in row]]}) for row in logits]
        return [dumps(ranked(self._labels, apply(function, row))[:top]) for row in logits]

    def _logits(self, body: "Mapping[str, object]") -> list[list[float]]:
        reader = self._reader
        many = texts(body, "text", reader.limits)
        truncate = flag(body, "truncate", True)
        if body.get("text_pair") is None:
            return reader.numbers(reader.singles(many, "text", truncate))
        seconds = texts(body, "text_pair", reader.limits)
        if len(seconds) != len(many):
            raise BadRequest(
                400,
                "wrong_shape",
                f"'text' holds {len(many)} texts and 'text_pair' {len(seconds)}; pairs need both",
            )
        pairs = reader.pairs(many, seconds, "text", truncate)
        return reader.numbers(pairs.ids, pairs.types)
