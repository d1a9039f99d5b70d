"""Traces in columns: a time on each line, or a time and a count for the minute that begins there."""

import math
from collections.abc import Iterator

from coldpress.traffic.lines import MINUTE, Numbered, Span, Wrong, iso_time, possible
from coldpress.traffic.schedule import MOST_A_SECOND, Arrival

#: seconds by which a clock that wrote every minute may have been early
_JITTER = 1.0
#: seconds: lines that are never closer count something else than minutes
_APART = 300.0
_MOST_A_MINUTE = 60 * MOST_A_SECOND
_MINUTES = (b"minute", b"minutes")
_TIMES = (b"timestamp", b"time", b"at", b"seconds", b"second", b"datetime", b"date")
_COUNTS = (b"count", b"counts", b"requests", b"invocations")
COLUMNS = "one column of times, or two: minute,count or timestamp,count"


def columns(lines: Numbered) -> Iterator[Arrival | Span]:
    """One column or two, with a heading or without: the first line tells."""
    wrong, first = next(lines, (None, b""))
    if wrong is None:
        return iter(())
    names = [name.lower() for name in _fields(first)]
    headed = names[0] in _MINUTES + _TIMES
    if headed and len(names) == 1:
        return _times(lines, MINUTE if names[0] in _MINUTES else 1.0)
    if headed and len(names) == 2 and names[1] in _COUNTS:
        return _counts(lines, MINUTE if names[0] in _MINUTES else 1.0)
    if headed or len(names) > 2:
        raise wrong(first, f"is not what a trace has: {COLUMNS}")
    again = _and_then((wrong, first), lines)
    if len(names) == 1:
        return _times(again, 1.0)
    if _seconds(names[0], wrong) is not None:
        raise wrong(first, "may be minutes or seconds, and a count: say which by a heading, as minute,count")
    return _counts(again, 1.0)


def _and_then(first: tuple[Wrong, bytes], rest: Numbered) -> Numbered:
    yield first
    yield from rest


def _fields(line: bytes) -> list[bytes]:
    return [field.strip().strip(b"\"'").strip() for field in line.split(b",")]


def _times(lines: Numbered, unit: float) -> Iterator[Arrival]:
    for _, at, _ in _ordered(((wrong, line, b"") for wrong, line in lines), unit):
        yield at, None


def _counts(lines: Numbered, unit: float) -> Iterator[Span]:
    last, closest, wrong = -MINUTE, math.inf, None
    for wrong, at, count in _ordered(_pairs(lines), unit):
        if at < last + MINUTE - _JITTER:
            raise wrong(f"{at - last:g} s", f"after the line before: counts are per minute, {MINUTE:g} s apart")
        if not count.isdigit():
            raise wrong(count, "is not a count: a whole number, 0 or more")
        if len(count) > 12 or int(count) > _MOST_A_MINUTE:
            raise wrong(count, f"in a minute is more than {_MOST_A_MINUTE:,}")
        closest = min(closest, at - last) if last >= 0 else closest
        last = max(at, last + MINUTE)
        yield Span(last, MINUTE, int(count))
    if wrong is not None and unit != MINUTE and _APART <= closest < math.inf:
        raise wrong(f"{closest:g} s", "is the least between lines; a count is of one minute: count each minute")


def _pairs(lines: Numbered) -> Iterator[tuple[Wrong, bytes, bytes]]:
    for wrong, line in lines:
        fields = _fields(line)
        if len(fields) != 2:
            raise wrong(line, f"has {len(fields)} columns; the lines before have 2, a time and a count")
        yield wrong, fields[0], fields[1]


def _ordered(rows: Iterator[tuple[Wrong, bytes, bytes]], unit: float) -> Iterator[tuple[Wrong, float, bytes]]:
    """Times from the first on. All are numbers or none is, or a slip would be a gap of fifty years."""
    first: float | None = None
    last, numbers = -math.inf, True
    for wrong, text, rest in rows:
        at = _seconds(text, wrong)
        if first is None:
            numbers = at is not None
        if at is None and numbers:
            raise wrong(text, "is not a number of seconds, as the lines before have it")
        if at is not None and not numbers:
            raise wrong(text, "is not a time of ISO 8601, as the lines before have it")
        at = iso_time(text, wrong) if at is None else at * unit
        if at < last:
            raise wrong(text, "is before the time of the line before: sort the trace")
        first = at if first is None else first
        last = at
        yield wrong, at - first, rest


def _seconds(text: bytes, wrong: Wrong) -> float | None:
    """A number that can be a time; None if it is no number."""
    try:
        at = float(text)
    except ValueError:
        if not text.startswith(b'"'):
            return None
        return _seconds(text.strip(b'"'), wrong)
    return possible(at, text, wrong) if b"_" not in text else None
