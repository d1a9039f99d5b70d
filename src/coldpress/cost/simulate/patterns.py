"""Kinds of traffic for those who have no recording: at a mean rate, how it changes with time."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from coldpress.cost.simulate.arrivals import Arrivals, Chunk, Step, zipf
from coldpress.errors import UsageError

DAY = 86_400.0
_MINUTE = 60.0
MOST_REQUESTS = 20_000_000_000
MOST_FUNCTIONS = 100_000


@dataclass(frozen=True)
class Pattern:
    """`rate` is the mean, in requests a second; `seconds` is how long."""

    kind: str
    rate: float
    seconds: float
    #: bursty: how many times the quiet rate a burst has, how long it lasts, and how many come in an hour
    burst_times: float = 20.0
    burst_seconds: float = 30.0
    bursts_an_hour: float = 4.0
    #: diurnal: the night's rate, as a share of the day's
    night: float = 0.1
    #: sporadic: requests in one visit
    visit: float = 5.0
    #: multi-tenant: as many functions, and how unequal they are
    functions: int = 1
    exponent: float = 1.1

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(f"{self.kind!r} is not a pattern of traffic; there are: {', '.join(KINDS)}")
        if not 1e-7 <= self.rate <= 1e6:
            raise UsageError(f"a rate of {self.rate:g} a second cannot be simulated: from 1e-7 to 1,000,000")
        if not _MINUTE <= self.seconds <= 3660 * DAY:
            raise UsageError(f"{self.seconds:g} seconds cannot be simulated: from a minute to ten years")
        if self.rate * self.seconds > MOST_REQUESTS:
            raise UsageError(
                f"{self.rate:g} a second for {self.seconds / DAY:g} days are {self.rate * self.seconds:,.0f} "
                f"requests; at most {MOST_REQUESTS:,}: take fewer days, the cost is of a month all the same"
            )
        if not 0 <= self.exponent <= 10 or not 1 <= self.visit <= 1e6:
            raise UsageError(
                f"--zipf {self.exponent:g} is from 0 to 10, --visit {self.visit:g} from 1 to 1,000,000"
            )
        if not 1 <= self.functions <= MOST_FUNCTIONS:
            raise UsageError(f"{self.functions:,} functions cannot be simulated: from 1 to {MOST_FUNCTIONS:,}")

    def chunks(self, seed: int = 0) -> Iterator[Chunk]:
        arrivals = Arrivals(seed)
        steps = KINDS[self.kind](self, Random(seed))  # noqa: S311 - the same seed gives the same traffic
        chunks = arrivals.at_rates(steps)
        return arrivals.owned(chunks, zipf(self.functions, self.exponent)) if self.functions > 1 else chunks


def _steady(pattern: Pattern, random: Random) -> Iterator[Step]:
    yield pattern.seconds, pattern.rate


def _diurnal(pattern: Pattern, random: Random) -> Iterator[Step]:
    """A wave over the day, least at three in the morning and most at three in the afternoon."""
    depth = (1 - pattern.night) / (1 + pattern.night)

    def wave(minute: int) -> float:
        return 1 - depth * math.cos((minute / 60 % 24 - 3) / 24 * 2 * math.pi)

    minutes = math.ceil(pattern.seconds / _MINUTE)
    mean = sum(map(wave, range(minutes))) / minutes  # 1 for whole days; part of one has its own
    for minute in range(minutes):
        yield min((minute + 1) * _MINUTE, pattern.seconds), pattern.rate * wave(minute) / mean


def _bursty(pattern: Pattern, random: Random) -> Iterator[Step]:
    """Quiet, and now and then many at once; bursts come at random."""
    a_second = pattern.bursts_an_hour / 3600
    share = a_second * pattern.burst_seconds / (1 + a_second * pattern.burst_seconds)
    quiet = pattern.rate / (1 + share * (pattern.burst_times - 1))
    now = 0.0
    while now < pattern.seconds:
        now = min(now + random.expovariate(a_second), pattern.seconds)
        yield now, quiet
        now = min(now + pattern.burst_seconds, pattern.seconds)
        yield now, quiet * pattern.burst_times


def _sporadic(pattern: Pattern, random: Random) -> Iterator[Step]:
    """Nothing for long, then a visit: some requests within half a minute."""
    a_second, width = pattern.rate / pattern.visit, 30.0
    now = 0.0
    while now < pattern.seconds:
        now = min(now + random.expovariate(a_second), pattern.seconds)
        yield now, 0.0
        now = min(now + width, pattern.seconds)
        yield now, pattern.visit / width * (1 + a_second * width)


KINDS: dict[str, Callable[[Pattern, Random], Iterator[Step]]] = {
    "steady": _steady,
    "diurnal": _diurnal,
    "bursty": _bursty,
    "sporadic": _sporadic,
}
