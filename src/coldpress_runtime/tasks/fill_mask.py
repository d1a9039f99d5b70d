"""A text with a gap → what may stand there, as transformers' fill-mask gives it."""

from coldpress_runtime.faults import BadRequest, EngineError
from coldpress_runtime.jsontext import dumps
from coldpress_runtime.native import Int64, read_memory
from coldpress_runtime.tasks.scores import count, number, softmax
from coldpress_runtime.tasks.texts import fields, flag, names, shown, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from coldpress_runtime.model import Model
    from coldpress_runtime.tasks import Route
    from coldpress_runtime.tasks.tokenizer import HuggingFace


class FillMask:
    def __init__(self, model: "Model") -> None:
        self._tokenizer: HuggingFace = model.tokenizer  # type: ignore[assignment]  # this task always carries it
        self._session = model.session
        spec = model.spec
        self._limits: dict[str, int] = spec["limits"]
        self._mask: int = spec["mask"]
        self._mask_text: str = spec["mask_text"]
        self._vocabulary: int = spec["dimensions"]
        self.routes: dict[str, Route] = {"/": self.plain}

    def plain(self, request: object, room: int) -> str:
        body = fields(request, f'{{"text": "… {self._mask_text} …"}}')
        many = texts(body, "text", self._limits)
        top = count(body, "top_k", 5) or self._vocabulary
        targets = self._targets(body)
        encoded = [ids for ids, _ in self._tokenizer.encode(many)]
        gaps = [[at for at, token in enumerate(ids) if token == self._mask] for ids in encoded]
        for at, places in enumerate(gaps):
            if not places:
                raise BadRequest(
                    400, "no_mask", f"text[{at}] has no gap among the tokens that count: write {self._mask_text}"
                )
        logits = [self._logits(ids, places) for ids, places in zip(encoded, gaps, strict=True)]
        if flag(body, "logits", False):
            return dumps({"logits": [[number(one) for row in rows for one in row] for rows in logits]})
        filled: list[Any] = []
        for ids, places, rows in zip(encoded, gaps, logits, strict=True):
            found = [self._fill(ids, places, gap, row, top, targets) for gap, row in enumerate(rows)]
            filled.append(found[0] if len(found) == 1 else found)
        return dumps(filled[0] if len(filled) == 1 else filled)

    def _targets(self, body: "Mapping[str, object]") -> list[int] | None:
        """Tokens that alone may fill a gap; of a word that is not one token, its first."""
        given = body.get("targets")
        if given is None:
            return None
        words = [given] if isinstance(given, str) else names(body, "targets", [])
        found: list[int] = []
        for word in words:
            token = self._tokenizer.token(word)
            if token is None:
                ((ids, _),) = self._tokenizer.parts([word])
                token = ids[0] if ids else None
            if token is not None and token not in found:
                found.append(token)
        if not found:
            raise BadRequest(400, "empty_input", f"'targets' is {shown(given)}: this model has no such token")
        return found

    def _logits(self, ids: list[int], places: list[int]) -> list[list[float]]:
        (made,) = self._session.call(
            [
                ("int64", (1, len(ids)), (Int64 * len(ids))(*ids)),
                ("int64", (1, len(places)), (Int64 * len(places))(*places)),
            ]
        )
        try:
            data = read_memory(made.address, 4 * self._vocabulary * len(places))
        finally:
            made.close()
        values: list[Any] = memoryview(data).cast("f").tolist()
        if not all(value - value == 0 for value in values):
            raise EngineError("the model answered with a value that is not a finite number")
        size = self._vocabulary
        return [values[at : at + size] for at in range(0, len(values), size)]

    def _fill(
        self, ids: list[int], places: list[int], gap: int, logits: list[float], top: int, targets: list[int] | None
    ) -> "list[dict[str, Any]]":
        scores = softmax(logits)
        tokens = range(len(scores)) if targets is None else targets
        best = sorted(tokens, key=scores.__getitem__, reverse=True)[:top]
        found = []
        for token in best:
            whole = [*ids]
            whole[places[gap]] = token
            found.append(
                {
                    "score": number(scores[token]),
                    "token": token,
                    "token_str": self._tokenizer.decode([token], plain=False),
                    "sequence": self._tokenizer.decode(whole, plain=len(places) == 1),
                }
            )
        return found
