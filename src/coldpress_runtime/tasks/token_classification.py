"""Text → what stands in it and where, as transformers' token-classification does; whole entities by default."""

from coldpress_runtime.jsontext import dumps
from coldpress_runtime.tasks.reader import Reader
from coldpress_runtime.tasks.scores import choice, number, softmax
from coldpress_runtime.tasks.texts import fields, flag, merged, names, texts, together
from coldpress_runtime.tasks.words import Words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from coldpress_runtime.model import Model
    from coldpress_runtime.tasks import Route
    from coldpress_runtime.tasks.tokenizer import Spans

    Entity = dict[str, Any]

STRATEGIES = ("none", "simple", "first", "average", "max")


class Token:
    """A token of the text, and how likely each label is for it."""

    __slots__ = ("end", "goes_on", "index", "scores", "start")

    def __init__(self, index: int, start: int, end: int, goes_on: bool, scores: list[float]) -> None:
        self.index = index
        self.start = start
        self.end = end
        self.goes_on = goes_on
        self.scores = scores


class TokenClassification:
    def __init__(self, model: "Model") -> None:
        self._reader = Reader(model)
        self.batch_limit: int = self._reader.limits["texts"]
        self._words = Words(model)
        self._labels: list[str] = model.spec["labels"]
        self._before, self._after = map(len, model.spec["frame"]["single"])
        self.routes: dict[str, Route] = {"/": self.plain}

    def plain(self, request: object, room: int) -> str:
        body = fields(request, '{"text": "…"}')
        found = self._found(body)
        if flag(body, "logits", False):
            return dumps({"logits": found})
        return dumps(found[0] if isinstance(body["text"], str) else found)

    def batch_key(self, body: "Mapping[str, object]") -> str | None:
        return together(body, "text")

    def many(self, bodies: "Sequence[Mapping[str, object]]", room: int) -> list[str]:
        body = merged(bodies, "text")
        logits = flag(body, "logits", False)
        return [dumps({"logits": [one]} if logits else one) for one in self._found(body)]

    def _found(self, body: "Mapping[str, object]") -> "list[Any]":
        """For each text its entities, or the bare numbers where those are asked for."""
        strategy = choice(body, "aggregation_strategy", "simple", STRATEGIES)
        ignored = names(body, "ignore_labels", ["O"])
        many = texts(body, "text", self._reader.limits)
        framed = self._reader.singles_with_spans(many, "text", flag(body, "truncate", True))
        answers = self._reader.numbers([ids for ids, _ in framed])
        if flag(body, "logits", False):
            return [[number(one) for one in row] for row in answers]
        return [
            [one for one in self._entities(text, *tokens, logits, strategy) if _label(one) not in ignored]
            for text, tokens, logits in zip(many, framed, answers, strict=True)
        ]

    def _entities(
        self, text: str, ids: list[int], spans: "Spans", logits: list[float], strategy: str
    ) -> "list[Entity]":
        tokens = self._tokens(text, ids, spans, logits)
        if strategy in ("none", "simple"):
            single = [self._entity(text, token.scores, token, token, strategy) for token in tokens]
            if strategy == "none":
                return [{**one, "index": token.index} for one, token in zip(single, tokens, strict=True)]
        else:
            single = self._whole_words(text, tokens, strategy)
        return _grouped(text, single)

    def _tokens(self, text: str, ids: list[int], spans: "Spans", logits: list[float]) -> list[Token]:
        """The text's own tokens, without those that frame it."""
        labels, tokens = len(self._labels), []
        for at in range(self._before, len(ids) - self._after):
            start, end = spans[at]
            scores = softmax(logits[at * labels : at * labels + labels])
            tokens.append(Token(at, start, end, self._words.goes_on(ids[at], text, start), scores))
        return tokens

    def _whole_words(self, text: str, tokens: list[Token], strategy: str) -> "list[Entity]":
        words: list[list[Token]] = []
        for token in tokens:
            if token.goes_on and words:
                words[-1].append(token)
            else:
                words.append([token])
        return [self._entity(text, _together(word, strategy), word[0], word[-1], strategy) for word in words]

    def _entity(self, text: str, scores: list[float], first: Token, last: Token, strategy: str) -> "Entity":
        best = max(range(len(scores)), key=scores.__getitem__)
        return {
            "entity": self._labels[best],
            "score": number(scores[best]),
            "word": text[first.start : last.end],
            "start": first.start,
            "end": last.end,
        }


def _together(word: list[Token], strategy: str) -> list[float]:
    if strategy == "first":
        return word[0].scores
    if strategy == "max":
        return max(word, key=lambda token: max(token.scores)).scores
    return [sum(column) / len(word) for column in zip(*(token.scores for token in word), strict=True)]


def _grouped(text: str, entities: "list[Entity]") -> "list[Entity]":
    """Neighbours of one kind made into one; B- begins another of its kind, I- goes on."""
    groups: list[list[Entity]] = []
    for entity in entities:
        beginning, kind = _tag(entity["entity"])
        if groups and not beginning and _tag(groups[-1][-1]["entity"])[1] == kind:
            groups[-1].append(entity)
        else:
            groups.append([entity])
    return [
        {
            "entity_group": group[0]["entity"].split("-", 1)[-1],
            "score": number(sum(one["score"] for one in group) / len(group)),
            "word": text[group[0]["start"] : group[-1]["end"]],
            "start": group[0]["start"],
            "end": group[-1]["end"],
        }
        for group in groups
    ]


def _tag(label: str) -> tuple[bool, str]:
    """Whether a label begins an entity, and of what kind."""
    return label.startswith("B-"), label[2:] if label.startswith(("B-", "I-")) else label


def _label(entity: "Entity") -> str:
    label: str = entity.get("entity") or entity["entity_group"]
    return label
