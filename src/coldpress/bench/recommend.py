"""Which memory size to take, by what a person wants: the least cost, the most speed, or some of both."""

import math
from collections.abc import Callable
from statistics import median

from coldpress.bench.result import Size, percentile

#: figures of two runs differ by as much: within it the other virtue decides
_ALIKE = 1.03
STRATEGIES = {
    "cost": "the least dollars per million requests",
    "speed": "the lowest p95",
    "balanced": "the lowest product of cost and time, where time is p95 and cold start alike",
}


def recommend(sizes: list[Size], usual: str) -> dict[str, int]:
    """The size for each strategy, of those that fit; none where none fits."""
    fit = [size for size in sizes if size.fits]
    if not fit:
        return {}

    def cost(size: Size) -> float:
        return size.cost_per_million

    def slowness(size: Size) -> float:
        return percentile(size.warm[usual], 0.95)

    def balance(size: Size) -> float:
        """One per cent of cost weighs as much as one of time, whatever the other sizes are like."""
        return cost(size) * math.sqrt(slowness(size) * median(size.cold_ms))

    return {
        "cost": _best(fit, cost, slowness),
        "speed": _best(fit, slowness, cost),
        "balanced": _best(fit, balance, cost),
    }


def _best(sizes: list[Size], by: Callable[[Size], float], then: Callable[[Size], float]) -> int:
    least = min(map(by, sizes))
    alike = [size for size in sizes if by(size) <= least * _ALIKE]
    return min(alike, key=lambda size: (then(size), size.memory_mb)).memory_mb
