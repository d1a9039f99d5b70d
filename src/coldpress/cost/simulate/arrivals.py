"""Arrivals in chunks, so that a month takes no more memory than a minute."""

from array import array
from collections.abc import Iterator
from ctypes import byref, c_double
from dataclasses import dataclass

from coldpress.cost.simulate.library import Source, doubles, library, owners

#: arrivals in a chunk: half a megabyte, which stays in a core's cache
CHUNK = 1 << 16
#: arrays are made so long once, and then cut
_EMPTY = bytes(8 * CHUNK)

#: until when (seconds), and at how many requests a second
Step = tuple[float, float]


@dataclass(frozen=True)
class Chunk:
    """Some arrivals in order of time, and until when there are no others; `owners`: whose function each is for."""

    at: "array[float]"
    end: float
    owners: "array[int] | None" = None


class Arrivals:
    """Draws arrivals, the same ones for the same seed."""

    def __init__(self, seed: int = 0) -> None:
        self._library = library()
        self._source = Source()
        self._library.source_open(byref(self._source), seed)

    def at_rates(self, steps: Iterator[Step]) -> Iterator[Chunk]:
        """Of independent people, whose rate changes by steps."""
        at, count, end = array("d", _EMPTY), 0, 0.0
        for until, rate in steps:
            end = until
            while True:
                room = CHUNK - count
                found = self._library.source_fill(byref(self._source), until, rate, doubles(at, count), room)
                count += found
                if found < room:
                    break
                yield Chunk(at, at[-1])
                at, count = array("d", _EMPTY), 0
        yield Chunk(at[:count], end)

    def in_spans(self, spans: Iterator[tuple[float, float, int]]) -> Iterator[Chunk]:
        """A known number within each span: (start, width, count)."""
        at, count, end = array("d", _EMPTY), 0, 0.0
        for start, width, total in spans:
            end = start + width
            left, done = c_double(1.0), 0
            while done < total:
                some = min(CHUNK - count, total - done)
                self._library.spread_fill(
                    byref(self._source), start, width, total, done, byref(left), doubles(at, count), some
                )
                count, done = count + some, done + some
                if count == CHUNK:
                    yield Chunk(at, at[-1])
                    at, count = array("d", _EMPTY), 0
        yield Chunk(at[:count], end)

    def owned(self, chunks: Iterator[Chunk], shares: list[float]) -> Iterator[Chunk]:
        """Give each arrival to one of several functions, by their shares of the traffic."""
        added, sums = 0.0, array("d")
        for share in shares:
            added += share
            sums.append(added)
        for chunk in chunks:
            whose = array("I", bytes(4 * len(chunk.at)))
            self._library.owners_fill(byref(self._source), doubles(sums), len(sums), owners(whose), len(whose))
            yield Chunk(chunk.at, chunk.end, whose)


def chunked(times: Iterator[float]) -> Iterator[Chunk]:
    """Arrivals that are known one by one."""
    at = array("d")
    for time in times:
        at.append(time)
        if len(at) == CHUNK:
            yield Chunk(at, at[-1])
            at = array("d")
    if at:
        yield Chunk(at, at[-1])


def zipf(functions: int, exponent: float) -> list[float]:
    """Shares of the traffic: the n-th most popular has 1 / n ** exponent of the first's."""
    shares = [1 / number**exponent for number in range(1, functions + 1)]
    total = sum(shares)
    return [share / total for share in shares]
