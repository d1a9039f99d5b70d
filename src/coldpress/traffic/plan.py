"""What is to be sent when: a steady rate, or a trace at its own pace or another."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from coldpress.errors import UsageError
from coldpress.traffic.schedule import LONGEST, MOST_A_SECOND, MOST_REQUESTS, Arrival, even, poisson
from coldpress.traffic.trace import arrivals


@dataclass(frozen=True)
class Plan:
    """`arrivals` are made one by one while they are sent; `words` say what was asked for."""

    words: str
    seconds: float
    arrivals: Iterator[Arrival]


def of_rate(rate: float, duration: float, *, scatter: bool, seed: int) -> Plan:
    if not 0 < rate <= MOST_A_SECOND:
        raise UsageError(f"a rate of {rate:g} a second is out of range: above 0, at most {MOST_A_SECOND:,}")
    if not 0 < duration <= LONGEST:
        raise UsageError(f"a duration of {duration:g} s is out of range: above 0, at most {LONGEST:,.0f}")
    if rate * duration < 1:
        raise UsageError(
            f"{rate:g} a second for {duration:g} s is less than one request: raise --rate or --duration"
        )
    _check_count(rate * duration)
    made = poisson(rate, duration, seed) if scatter else even(rate, duration)
    return Plan(f"{rate:g} a second for {duration:g} s, {'Poisson' if scatter else 'even'}", duration, made)


def of_trace(trace: Path, speed: float, *, scatter: bool, seed: int) -> Plan:
    """Read twice: what is wrong in its last line is said before the first request, not after an hour."""
    if not 0 < speed < math.inf:
        raise UsageError(f"a speed of {speed:g} is out of range: it must be above 0")
    last = 0.0
    for number, (last, _) in enumerate(arrivals(trace, scatter=scatter, seed=seed), 1):  # noqa: B007 - see below
        _check_count(number)
    seconds = last / speed
    if seconds > LONGEST:
        raise UsageError(
            f"{trace} takes {seconds / 3600:,.1f} h at --speed {speed:g}; the longest is {LONGEST / 3600:g} h"
        )
    again = arrivals(trace, scatter=scatter, seed=seed)
    words = trace.name if speed == 1 else f"{trace.name} at {speed:g} × its speed"
    return Plan(words, seconds, ((at / speed, body) for at, body in again))


def _check_count(requests: float) -> None:
    if requests > MOST_REQUESTS:
        raise UsageError(f"{requests:,.0f} requests are too many for one run: {MOST_REQUESTS:,} at most")
