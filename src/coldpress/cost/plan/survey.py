"""Traffic to plan for: a recording or a pattern, read as often as it is needed, and what there is to say of it."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from coldpress.cost.simulate.arrivals import Arrivals, Chunk, chunked
from coldpress.cost.simulate.patterns import Pattern
from coldpress.errors import UsageError
from coldpress.traffic.lines import Span
from coldpress.traffic.trace import pieces
from coldpress.words import days_text

_MINUTE = 60.0
LONGEST = 3660 * 86_400.0
#: told how much of the whole is done, between 0 and 1
Done = Callable[[float], None]


@dataclass(frozen=True)
class Traffic:
    """`chunks` begins anew each time."""

    what: str
    chunks: Callable[[Done], Iterator[Chunk]]
    functions: int = 1


@dataclass(frozen=True)
class Survey:
    requests: int
    seconds: float
    #: requests a second: on average, and in the busiest minute
    rate: float
    busiest: float


def from_pattern(pattern: Pattern, seed: int = 0) -> Traffic:
    def chunks(done: Done) -> Iterator[Chunk]:
        for chunk in pattern.chunks(seed):
            yield chunk
            done(chunk.end / pattern.seconds)

    what = f"{pattern.kind}, {pattern.rate:g} a second on average, {days_text(pattern.seconds)}"
    if pattern.functions > 1:
        what += f", {pattern.functions:,} functions by Zipf's law ({pattern.exponent:g})"
    return Traffic(what, chunks, pattern.functions)


def from_trace(path: Path, seed: int = 0) -> Traffic:
    try:
        size = max(1, path.stat().st_size)
    except OSError as error:
        raise UsageError(f"the trace {path} cannot be read: {error.strerror}") from None

    def chunks(done: Done) -> Iterator[Chunk]:
        found = pieces(path, lambda read: done(read / size))
        first = next(found)
        if isinstance(first, Span):
            return Arrivals(seed).in_spans(_spans(first, found))
        return chunked(_times(first[0], found))

    return Traffic(path.name, chunks)


def _spans(first: Span, rest: Iterator[object]) -> Iterator[Span]:
    yield first
    for piece in rest:
        assert isinstance(piece, Span)  # one reader gives one kind
        yield piece


def _times(first: float, rest: Iterator[object]) -> Iterator[float]:
    yield first
    for piece in rest:
        assert isinstance(piece, tuple)
        yield piece[0]


def survey(traffic: Traffic, done: Done) -> Survey:
    """How much there is. A fault in a recording is found here, before anything is simulated."""
    requests, end, most = 0, 0.0, 0
    minute, here = 0, 0
    for chunk in traffic.chunks(done):
        at, begin = chunk.at, 0
        while begin < len(at):
            after = bisect_left(at, (minute + 1) * _MINUTE, begin)
            here += after - begin
            begin = after
            if begin < len(at):
                most, here = max(most, here), 0
                minute = int(at[begin] // _MINUTE)
        requests += len(at)
        end = chunk.end
        if end > LONGEST:
            raise UsageError(
                f"{traffic.what} spans {end / 86_400:,.0f} days; at most {LONGEST / 86_400:,.0f}: "
                f"are its times milliseconds, and not seconds?"
            )
    seconds = max(end, _MINUTE)
    return Survey(requests, seconds, requests / seconds, max(most, here) / _MINUTE)


@dataclass(frozen=True)
class Shape:
    """What a pattern is like beside its rate."""

    functions: int = 1
    exponent: float = 1.1
    visit: float = 5.0
    #: times the quiet rate, seconds, bursts an hour
    burst: tuple[float, float, float] | None = None


def find_traffic(
    trace: Path | None, pattern: str | None, rate: float | None, duration: str | None, shape: Shape, seed: int
) -> Traffic:
    """As a person says it: a recording, or a pattern with its rate and how long."""
    if trace is not None:
        said = [name for name, value in (("pattern", pattern), ("rate", rate), ("duration", duration)) if value]
        if said:
            raise UsageError(
                f"--trace {trace} is recorded traffic: --{said[0]} belongs to a pattern, leave it out"
            )
        if shape.functions != 1:
            raise UsageError(f"--functions {shape.functions} is for patterns: a trace is one function's")
        return from_trace(trace, seed)
    made = Pattern(
        pattern or "diurnal",
        1.0 if rate is None else rate,
        _days(duration or "7d"),
        functions=shape.functions,
        exponent=shape.exponent,
        visit=shape.visit,
    )
    if shape.burst:
        times, seconds, an_hour = shape.burst
        made = replace(made, burst_times=times, burst_seconds=seconds, bursts_an_hour=an_hour)
    return from_pattern(made, seed)


def read_burst(text: str) -> tuple[float, float, float]:
    """20,30,4: twenty times as many for thirty seconds, four times an hour."""
    found = re.fullmatch(r"(\d{1,6}(?:\.\d+)?),(\d{1,6}(?:\.\d+)?),(\d{1,6}(?:\.\d+)?)", text.replace(" ", ""))
    times, seconds, an_hour = (float(part) for part in found.groups()) if found else (0.0, 0.0, 0.0)
    if not (times >= 1 and seconds > 0 and an_hour > 0):
        raise UsageError(
            f"--burst {text!r} is not understood: write how many times as many, for how many "
            f"seconds, how often an "
            f"hour, as 20,30,4"
        )
    return times, seconds, an_hour


def _days(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([mhd])", text.strip())
    if found is None:
        raise UsageError(f"--duration {text!r} is not understood: write a number and its unit, as 90m, 12h or 30d")
    return float(found[1]) * {"m": 60.0, "h": 3600.0, "d": 86_400.0}[found[2]]
