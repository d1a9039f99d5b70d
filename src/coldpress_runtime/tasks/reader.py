"""Texts, and pairs of texts, through a model: their tokens, in batches, and a row of numbers for each."""

from coldpress_runtime.faults import BadRequest, EngineError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from coldpress_runtime.engines import Output, Session
    from coldpress_runtime.model import Model
    from coldpress_runtime.tasks.tokenizer import Spans, Tokenizer

    #: where the rows of one text lie: which text, what holds them, from, to
    Row = tuple[int, Output, int, int]


class Pairs:
    """Token ids of pairs, and which part each token belongs to."""

    def __init__(self) -> None:
        self.ids: list[list[int]] = []
        self.types: list[list[int]] = []


class Reader:
    def __init__(self, model: "Model") -> None:
        assert model.tokenizer is not None
        self.tokenizer: Tokenizer = model.tokenizer
        self._session: Session = model.session
        spec = model.spec
        self.limits: dict[str, int] = spec["limits"]
        self.max_tokens: int = spec["max_tokens"]
        self._frame = spec.get("frame")
        #: how much went through the model so far
        self.texts = self.tokens = 0

    def singles(self, many: list[str], field: str, truncate: bool = True) -> list[list[int]]:
        encoded = self.tokenizer.encode(many)
        for at, (_, cut) in enumerate(encoded):
            if cut and not truncate:
                raise self._too_long(f"{field}[{at}]")
        return [ids for ids, _ in encoded]

    def singles_with_spans(
        self, many: list[str], field: str, truncate: bool = True
    ) -> "list[tuple[list[int], Spans]]":
        """As `singles`, and the characters that each token stands for."""
        encoded = self.tokenizer.encode_spans(many)
        for at, (_, _, cut) in enumerate(encoded):
            if cut and not truncate:
                raise self._too_long(f"{field}[{at}]")
        return [(ids, spans) for ids, spans, _ in encoded]

    def pairs(self, firsts: list[str], seconds: list[str], place: str, truncate: bool = True) -> Pairs:
        """Each first with its second, the longer one cut first, as transformers does it."""
        made = Pairs()
        room = self.pair_room()
        parts = self.tokenizer.parts([*firsts, *seconds])
        for at in range(len(firsts)):
            first, second = parts[at][0], parts[at + len(firsts)][0]
            if len(first) + len(second) > room and not truncate:
                raise self._too_long(f"{place}[{at}]")
            kept, kept_second = longest_first(len(first), len(second), room)
            ids, types = self.framed(first[:kept], second[:kept_second])
            made.ids.append(ids)
            made.types.append(types)
        return made

    def pair_room(self) -> int:
        """How many tokens of its own a pair may have."""
        assert self._frame is not None
        return self.max_tokens - sum(map(len, self._frame["pair"]))

    def framed(self, first: list[int], second: list[int]) -> tuple[list[int], list[int]]:
        """A pair as the model wants it: between its special tokens, each of its type."""
        assert self._frame is not None
        start, middle, end = self._frame["pair"]
        pieces = (start, first, middle, second, end)
        types: list[int] = []
        for piece, kind in zip(pieces, self._frame["types"], strict=True):
            types += [kind] * len(piece)
        return [*start, *first, *middle, *second, *end], types

    def first_of_second(self, first: list[int]) -> int:
        """Where the second part of a framed pair begins."""
        assert self._frame is not None
        start, middle, _ = self._frame["pair"]
        return len(start) + len(first) + len(middle)

    def rows(self, ids: list[list[int]], types: list[list[int]] | None = None) -> "Iterator[Row]":
        """The model's answer to each text, not in the asked order; each is gone when the next one is asked for."""
        self.texts += len(ids)
        self.tokens += sum(map(len, ids))
        for batch in _batches(ids, self.limits["batch_tokens"]):
            output = self._session.run(
                [ids[at] for at in batch], None if types is None else [types[at] for at in batch]
            )
            try:
                for place, at in enumerate(batch):
                    yield at, output, *output.row(place)
            finally:
                output.close()

    def numbers(self, ids: list[list[int]], types: list[list[int]] | None = None) -> list[list[float]]:
        """The same as lists of finite numbers, in the asked order."""
        found: list[list[float]] = [[]] * len(ids)
        for at, output, start, stop in self.rows(ids, types):
            values: list[Any] = memoryview(output.raw(start, stop)).cast("f").tolist()
            if not all(value - value == 0 for value in values):
                raise EngineError("the model answered with a value that is not a finite number")
            found[at] = values
        return found

    def _too_long(self, place: str) -> BadRequest:
        return BadRequest(
            413,
            "text_too_long",
            f"{place} has more than {self.max_tokens} tokens, the model's limit: "
            "shorten it, or leave 'truncate' out to use its beginning",
        )


def longest_first(first: int, second: int, room: int) -> tuple[int, int]:
    """How much of each part is kept when both must fit: the longer one gives way, then both alike."""
    if first + second <= room:
        return first, second
    short, long = min(first, second), max(first, second)
    kept = max(short, room - short)
    if short + kept > room:
        short = max(0, room) // 2
        kept = short + max(0, room) % 2
    kept = min(kept, long)
    return (short, kept) if first <= second else (kept, short)


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
