"""Servers of one's own with a queue before them, or instances that turn away what they have no room for."""

import math
from array import array
from ctypes import byref

from coldpress.cost.simulate.arrivals import Chunk
from coldpress.cost.simulate.fleet import Outcome
from coldpress.cost.simulate.library import ServersSettings, ServersTotals, doubles, library, percentile
from coldpress.errors import ColdpressError, UsageError

MOST_SLOTS = 1_000_000


class Servers:
    """`slots` requests at once. Who comes when all are taken waits, or with queue=False is turned away."""

    def __init__(self, service_ms: list[float], slots: int, *, queue: bool = True, seed: int = 0) -> None:
        if not 1 <= slots <= MOST_SLOTS:
            raise UsageError(f"{slots:,} slots cannot be simulated: from 1 to {MOST_SLOTS:,}")
        self._now = 0.0
        service = array("d", service_ms)
        settings = ServersSettings(
            slots=slots, queue=queue, seed=seed, service=doubles(service), services=len(service)
        )
        self._library = library()
        self._servers = self._library.servers_open(byref(settings))
        if not self._servers:
            raise ColdpressError("there is no memory left for simulated servers")

    def __del__(self) -> None:
        if getattr(self, "_servers", None):
            self._library.servers_close(self._servers)
            self._servers = None

    def run(self, chunk: Chunk) -> None:
        self._library.servers_run(self._servers, doubles(chunk.at), len(chunk.at))
        self._now = chunk.end

    def totals(self) -> ServersTotals:
        totals = ServersTotals()
        self._library.servers_totals(self._servers, byref(totals))
        return totals

    def outcome(self) -> Outcome:
        totals = self.totals()
        steps = list(totals.histogram)
        served = totals.requests - totals.lost
        return Outcome(
            requests=totals.requests,
            cold=0,
            throttled=totals.lost,
            mean_ms=totals.latency_ms / served if served else math.nan,
            p50_ms=percentile(steps, 0.50),
            p95_ms=percentile(steps, 0.95),
            p99_ms=percentile(steps, 0.99),
            seconds=self._now,
        )
