"""The fleet again, written plainly: every sandbox an object, every rule spelled out, no cleverness.

It must agree with the library in C on every single number.
"""

import math
from dataclasses import dataclass, field

from coldpress.cost.simulate import Limits, Times

_WORD = (1 << 64) - 1


class Xoshiro:
    """xoshiro256**, seeded by splitmix64, as the library has it."""

    def __init__(self, seed: int) -> None:
        self.state = []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) & _WORD
            z = seed
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
            self.state.append(z ^ (z >> 31))

    def next(self) -> int:
        s = self.state
        turned = (s[1] * 5) & _WORD
        result = (((turned << 7) | (turned >> 57)) & _WORD) * 9 & _WORD
        t = (s[1] << 17) & _WORD
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = ((s[3] << 45) | (s[3] >> 19)) & _WORD
        return result

    def below(self, limit: int) -> int:
        return ((self.next() >> 32) * limit) >> 32


@dataclass
class Sandbox:
    function: int
    busy_until: float
    provisioned: bool
    unspent: float

    def warm(self, times: Times, now: float, ms: float) -> float:
        """With a share of a CPU: what there is of it, what the request needs of it, and how long that takes."""
        if times.cpu_ms <= 0 or times.share >= 1:
            return ms
        whole = times.share * 20
        had = min(whole, self.unspent + (now - self.busy_until) * 1000 * times.share)
        needs = min(whole, times.cpu_ms)
        if needs > had:
            ms += (needs - had) / times.share
        self.unspent = min(whole, max(0, had + ms * times.share - times.cpu_ms))
        return ms


@dataclass
class Counted:
    cold: int = 0
    provisioned: int = 0
    over_limit: int = 0
    over_scale_up: int = 0
    billed_ms: int = 0
    provisioned_ms: int = 0
    peak: int = 0
    latencies: list[float] = field(default_factory=list)


def simulate(
    at: list[float],
    owners: list[int],
    times: Times,
    limits: Limits,
    *,
    functions: int,
    ready: int = 0,
    seed: int = 0,
) -> Counted:
    random, counted = Xoshiro(seed), Counted()
    sandboxes: list[Sandbox] = []
    starts: dict[int, list[float]] = {}
    for now, function in zip(at, owners, strict=True):
        kept = now - limits.idle
        sandboxes = [one for one in sandboxes if one.provisioned or one.busy_until >= kept]
        busy = [one for one in sandboxes if one.busy_until > now]
        free = [one for one in sandboxes if one.function == function and one.busy_until <= now]
        rested = times.share * 20
        if sum(one.provisioned and one.function == function for one in busy) < ready:
            taken = max((one for one in free if one.provisioned), key=_last, default=None)
            if taken is None:
                taken = Sandbox(function, now, True, rested)
                sandboxes.append(taken)
            ms = taken.warm(times, now, times.warm[random.below(len(times.warm))])
            counted.provisioned += 1
            counted.provisioned_ms += math.ceil(ms)
        elif _on_demand(busy) + max(ready * functions, len(busy) - _on_demand(busy)) >= limits.concurrency:
            counted.over_limit += 1
            continue
        else:
            taken = max((one for one in free if not one.provisioned), key=_last, default=None)
            if taken is not None:
                ms = taken.warm(times, now, times.warm[random.below(len(times.warm))])
                counted.billed_ms += math.ceil(ms)
            else:
                recent = [start for start in starts.get(function, []) if start > now - limits.scale_seconds]
                if len(recent) >= limits.scale_up:
                    counted.over_scale_up += 1
                    continue
                starts[function] = [*recent, now]
                init, first = times.cold[random.below(len(times.cold))]
                counted.cold += 1
                counted.billed_ms += math.ceil(first + (init if limits.init_billed else 0))
                ms = limits.placing_ms + init + first
                taken = Sandbox(function, now, False, 0.0)
                sandboxes.append(taken)
        taken.busy_until = now + ms / 1000
        counted.latencies.append(ms)
        counted.peak = max(counted.peak, len(busy) + 1)
    return counted


def _on_demand(busy: list[Sandbox]) -> int:
    return sum(not one.provisioned for one in busy)


def _last(sandbox: Sandbox) -> float:
    return sandbox.busy_until
