"""A function's sandboxes on Lambda, or an endpoint's on SageMaker Serverless, under a stream of arrivals."""

import math
from array import array
from ctypes import byref
from dataclasses import dataclass, field

from coldpress.cost.simulate.arrivals import Chunk
from coldpress.cost.simulate.library import FleetSettings, FleetTotals, doubles, library, owners, percentile
from coldpress.cost.simulate.provisioning import MINUTE, Minute, Provisioning
from coldpress.errors import ColdpressError, UsageError

#: a share of a CPU is counted anew in each of Lambda's periods
PERIOD_MS = 20.0


@dataclass(frozen=True)
class Times:
    """Durations in milliseconds that were measured; the simulation draws from them."""

    warm: list[float]
    #: of each cold start its init and its first request's own duration
    cold: list[tuple[float, float]]
    #: of a CPU's time, what a request takes; 0: not known. Durations are of sandboxes that have rested, and with a
    #: share of a CPU one request pays for what the one before it has spent
    cpu_ms: float = 0.0
    share: float = 1.0

    def __post_init__(self) -> None:
        every = [*self.warm, *(ms for pair in self.cold for ms in pair)]
        wrong = next((ms for ms in every if not 0 <= ms <= 900_000), None)
        if wrong is not None:
            raise UsageError(
                f"a duration of {wrong} ms cannot be simulated: from 0 to 900,000, Lambda's own limit"
            )
        if not self.warm or not self.cold:
            raise UsageError(
                "a simulation draws from measured durations: at least one warm and one cold is needed"
            )


@dataclass(frozen=True)
class Limits:
    #: seconds that a sandbox is kept without work; AWS promises none
    idle: float = 300.0
    concurrency: int = 1000
    scale_up: int = 1000
    scale_seconds: float = 10.0
    #: before an init: finding a machine, fetching the package; in no metric, and not billed
    placing_ms: float = 0.0
    init_billed: bool = True


@dataclass(frozen=True)
class Outcome:
    """What became of the requests."""

    requests: int
    cold: int
    throttled: int
    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    billed_ms: float = 0.0
    #: requests that a provisioned sandbox took, their milliseconds, and sandboxes × seconds kept ready
    provisioned: int = 0
    provisioned_ms: float = 0.0
    provisioned_seconds: float = 0.0
    peak: int = 0
    seconds: float = 0.0
    #: what throttled them: "limit" and "scale_up"
    reasons: dict[str, int] = field(default_factory=dict)

    @property
    def served(self) -> int:
        return self.requests - self.throttled

    @property
    def cold_share(self) -> float:
        return self.cold / self.served if self.served else 0.0


class Fleet:
    """Give it chunks in order of time, then ask for the outcome."""

    def __init__(
        self,
        times: Times,
        limits: Limits,
        *,
        functions: int = 1,
        provisioning: Provisioning | None = None,
        seed: int = 0,
    ) -> None:
        self._provisioning = provisioning
        self._functions = functions
        self._now = 0.0
        self._minutes = 0
        warm, init = array("d", times.warm), array("d", [pair[0] for pair in times.cold])
        first = array("d", [pair[1] for pair in times.cold])
        settings = FleetSettings(
            idle=limits.idle,
            concurrency=limits.concurrency,
            scale_up=limits.scale_up,
            scale_seconds=limits.scale_seconds,
            placing_ms=limits.placing_ms,
            functions=functions,
            share=times.share,
            bucket_ms=times.share * PERIOD_MS,
            cpu_ms=times.cpu_ms if times.share < 1 else 0.0,
            init_billed=limits.init_billed,
            seed=seed,
            warm=doubles(warm),
            warms=len(warm),
            init=doubles(init),
            first=doubles(first),
            colds=len(init),
        )
        self._library = library()
        self._fleet = self._library.fleet_open(byref(settings))
        if not self._fleet:
            raise ColdpressError("there is no memory left for a simulated fleet")
        if provisioning is not None:
            self._library.fleet_provision(self._fleet, 0.0, provisioning.first())

    def __del__(self) -> None:
        if getattr(self, "_fleet", None):
            self._library.fleet_close(self._fleet)
            self._fleet = None

    def run(self, chunk: Chunk) -> None:
        if self._provisioning is None or self._provisioning.constant:
            self._run(chunk, 0, len(chunk.at))
        else:
            self._by_minutes(chunk, self._provisioning)
        self._now = chunk.end
        self._library.fleet_advance(self._fleet, chunk.end)

    def _by_minutes(self, chunk: Chunk, provisioning: Provisioning) -> None:
        """What is provisioned is looked at once a minute, as AWS does."""
        at, done = chunk.at, 0
        while True:
            end = (self._minutes + 1) * MINUTE
            until = _first_at(at, end, done)
            self._run(chunk, done, until)
            done = until
            if end > chunk.end:
                return
            self._library.fleet_advance(self._fleet, end)
            totals = self._totals()
            minute = Minute(totals.window_busy_seconds / MINUTE / self._functions, totals.window_peak)
            self._library.fleet_provision(self._fleet, end, provisioning.next(self._minutes + 1, minute))
            self._library.fleet_window(self._fleet)
            self._minutes += 1

    def _run(self, chunk: Chunk, first: int, last: int) -> None:
        if last <= first:
            return
        whose = owners(chunk.owners, first) if chunk.owners is not None else None
        if self._library.fleet_run(self._fleet, doubles(chunk.at, first), whose, last - first):
            raise ColdpressError("there is no memory left for a simulated fleet")

    def _totals(self) -> FleetTotals:
        totals = FleetTotals()
        self._library.fleet_totals(self._fleet, byref(totals))
        return totals

    def outcome(self) -> Outcome:
        totals = self._totals()
        steps = list(totals.histogram)
        throttled = totals.over_limit + totals.over_scale_up
        served = totals.requests - throttled
        return Outcome(
            requests=totals.requests,
            cold=totals.cold,
            throttled=throttled,
            mean_ms=totals.latency_ms / served if served else math.nan,
            p50_ms=percentile(steps, 0.50),
            p95_ms=percentile(steps, 0.95),
            p99_ms=percentile(steps, 0.99),
            billed_ms=totals.billed_ms,
            provisioned=totals.provisioned,
            provisioned_ms=totals.provisioned_ms,
            provisioned_seconds=totals.provisioned_seconds,
            peak=totals.peak,
            seconds=self._now,
            reasons={"limit": totals.over_limit, "scale_up": totals.over_scale_up},
        )


def _first_at(at: "array[float]", moment: float, low: int) -> int:
    """The number of the first arrival at or after a moment."""
    from bisect import bisect_left

    return bisect_left(at, moment, low)
