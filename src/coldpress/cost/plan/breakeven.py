"""Cost against traffic: what each way costs from one request an hour to thousands a second, where they cross."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from coldpress.cost.book import PriceBook
from coldpress.cost.plan.options import Options
from coldpress.cost.plan.planner import make_plan
from coldpress.cost.plan.profile import Profile
from coldpress.cost.plan.survey import Done, from_pattern
from coldpress.cost.simulate.patterns import DAY, Pattern

_REQUESTS = 50_000
_SHORTEST, _LONGEST = 120.0, 3650 * DAY
LEAST, MOST = 1 / 3600, 10_000.0
_POINTS_A_DECADE = 5
#: requests under way in a simulation
_AT_ONCE = 20_000


@dataclass(frozen=True)
class Curve:
    name: str
    #: (requests a second, dollars a month)
    points: list[tuple[float, float]]
    #: requests a second from which on it costs less than our own function on demand; None: not up to the last one
    wins_from: float | None


def curves(profile: Profile, options: Options, book: PriceBook, done: Done = lambda _: None) -> list[Curve]:
    """Steady traffic of independent people; our own on demand first, then SageMaker and servers.

    AWS's limits are lifted: they can be raised by asking, and a fleet that starts from nothing hits them first.
    """
    size = options.memory_mb or profile.memory_mb
    ours = replace(profile, times={size: profile.times[size]}, memory_mb=size)
    only = ("on-demand", "sagemaker", "managed", "servers")
    taken = replace(options, memory_mb=size, only=only, concurrency=1_000_000, scale_up=1_000_000_000)

    @cache
    def costs(rate: float) -> list[tuple[str, float]]:
        seconds = min(max(_REQUESTS / rate, _SHORTEST), _LONGEST)
        traffic = from_pattern(Pattern("steady", rate, seconds), options.seed)
        return [(row.name, row.dollars) for row in make_plan(ours, traffic, taken, book).rows]

    tried = rates(_most(ours, options))
    found = []
    for number, rate in enumerate(tried):
        found.append([dollars for _, dollars in costs(rate)])
        done(number / len(tried))
    # a server's name counts the servers, which differs from rate to rate
    names = [_kind(name) for name, _ in costs(tried[0])]
    ends = [math.inf] * len(names)
    ends[1] = options.sagemaker.concurrency / options.sagemaker.ms * 1000  # which is an endpoint's own
    made = []
    for number, name in enumerate(names):
        points = [(rate, row[number]) for rate, row in zip(tried, found, strict=True) if rate <= ends[number]]
        crossing = None if number == 0 else _crossing(tried, found, number, costs)
        made.append(Curve(name, points, crossing if crossing is None or crossing <= ends[number] else None))
    return made


def _most(profile: Profile, options: Options) -> float:
    """Up to which rate: no more sandboxes and servers than can be simulated."""
    slowest = min([profile.throughput, *(server.rate for server in options.servers)])
    slots = max([1.0, *(server.rate * (server.ms or 0) / 1000 for server in options.servers)])
    at_once = _AT_ONCE / max(profile.warm_seconds(profile.memory_mb), options.sagemaker.ms / 1000)
    return max(10 * LEAST, min(MOST, at_once, _AT_ONCE * slowest / slots))


def rates(most: float = MOST) -> list[float]:
    """Those that are tried, evenly on a logarithmic axis."""
    found, rate = [], LEAST
    while rate <= most * 1.0001:
        found.append(rate)
        rate *= 10 ** (1 / _POINTS_A_DECADE)
    return found


def _kind(name: str) -> str:
    """EC2 3 × g4dn.xlarge → EC2 g4dn.xlarge"""
    return re.sub(r"\d+ × ", "", name)


def _crossing(
    rates: list[float], found: list[list[float]], number: int, costs: Callable[[float], list[tuple[str, float]]]
) -> float | None:
    """The first rate at which another costs less, between two that were tried."""
    first = next((at for at, row in enumerate(found) if row[number] < row[0]), None)
    if first is None:
        return None
    if first == 0:
        return rates[0]
    low, high = rates[first - 1], rates[first]
    while high / low > 1.005:
        middle = (low * high) ** 0.5
        row = costs(middle)
        if row[number][1] < row[0][1]:
            high = middle
        else:
            low = middle
    return high
