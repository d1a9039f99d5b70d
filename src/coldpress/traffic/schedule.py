"""When each request is sent: fixed before the first one leaves, so that a slow answer never slows the asking."""

import math
import re
from collections.abc import Iterator
from random import Random

from coldpress.errors import UsageError

#: seconds after the start, and the body if it has one of its own
Arrival = tuple[float, bytes | None]

MOST_A_SECOND = 100_000
LONGEST = 24 * 3600.0
#: each takes some forty bytes until the end: two gigabytes
MOST_REQUESTS = 50_000_000

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)", re.ASCII)


def seconds(text: str) -> float:
    """500ms, 30s, 5m or 1h in seconds."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{text!r} is not a duration: write a number and its unit, as 500ms, 30s, 5m or 1h")
    value = float(found[1]) * _UNITS[found[2]]
    if not 0 < value <= LONGEST:
        raise UsageError(f"a duration of {text} is out of range: from 1ms to {LONGEST / 3600:.0f}h")
    return value


def even(rate: float, duration: float) -> Iterator[Arrival]:
    """Always the same pause. Multiplied, not added up: the last one is as exact as the first."""
    return ((number / rate, None) for number in range(math.ceil(rate * duration - 1e-9)))


def poisson(rate: float, duration: float, seed: int) -> Iterator[Arrival]:
    """As independent people ask: pauses are exponential, so requests come in bunches."""
    random = Random(seed)  # noqa: S311 - no secret: the same seed gives the same traffic
    at = random.expovariate(rate)
    while at < duration:
        yield at, None
        at += random.expovariate(rate)


def spread(start: float, width: float, count: int, random: Random | None) -> Iterator[Arrival]:
    """`count` arrivals in the `width` seconds from `start`: anywhere in it, or evenly without `random`.

    A Poisson process with a known count is that many uniform points. They are drawn in order, each as the least
    of those that are left: nothing has to be kept or sorted.
    """
    left = 1.0
    for number in range(count):
        if random is None:
            yield start + width * number / count, None
        else:
            left *= random.random() ** (1 / (count - number))
            yield start + width * (1 - left), None
