"""What a served function did so far: each request, the sums, and what they would have cost."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from coldpress.cost.book import price_book
from coldpress.emulate.sandboxes.invocation import Answered, Invocation, Report
from coldpress.emulate.sandboxes.reports import phases

_KEPT = 200


@dataclass
class Totals:
    requests: int = 0
    errors: int = 0
    throttled: int = 0
    cold_starts: int = 0
    billed_ms: int = 0
    gb_seconds: float = 0.0
    cost_usd: float = 0.0


class Record(NamedTuple):
    """A request that is over. Most are never looked at: what is told of one is put together when somebody asks."""

    request_id: str
    kind: str
    #: when it came, by time.time(), and the seconds until its answer was complete
    at: float
    seconds: float
    #: none of one that was turned away
    report: Report | None

    def told(self) -> dict[str, Any]:
        report = self.report
        told: dict[str, Any] = {
            "id": self.request_id,
            "at": round(self.at, 3),
            "kind": self.kind,
            "total_ms": _short(self.seconds * 1000),
            "status": 200,
        }
        if report is None:
            nothing = dict.fromkeys(("init_ms", "duration_ms", "billed_ms", "memory_mb", "sandbox"))
            turned_away = {"status": 429, "error": "TooManyRequestsException", "cold": False, "phases": []}
            return told | turned_away | nothing
        return told | {
            "error": report.error_type or None,
            "cold": report.is_cold,
            "init_ms": _short(report.init_ms),
            "duration_ms": _short(report.duration_ms),
            "billed_ms": report.billed_ms,
            "memory_mb": round(report.peak_mb, 1),
            "sandbox": report.sandbox,
            "phases": phases(report),
        }


class Ledger:
    def __init__(self, arch: str) -> None:
        self.totals = Totals()
        self.listeners: list[Callable[[Record], None]] = []
        self._kept: deque[Record] = deque(maxlen=_KEPT)
        prices = price_book().lambda_
        self._request = prices.request.value
        self._gb_second = prices.gb_second[arch][0].price.value

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The last of them."""
        return [record.told() for record in self._kept]

    def answered(self, invocation: Invocation, answered: Answered) -> None:
        report, totals = answered.report, self.totals
        gb_seconds = report.billed_ms / 1000 * report.memory_mb / 1024
        totals.requests += 1
        totals.errors += not answered.outcome.ok
        totals.cold_starts += report.is_cold
        totals.billed_ms += report.billed_ms
        totals.gb_seconds += gb_seconds
        totals.cost_usd += self._request + gb_seconds * self._gb_second
        self._record(invocation, answered.outcome.done, report)

    def throttled(self, invocation: Invocation) -> None:
        self.totals.throttled += 1
        self._record(invocation, time.monotonic(), None)

    def _record(self, invocation: Invocation, done: float, report: Report | None) -> None:
        came = time.time() - (time.monotonic() - invocation.arrived)
        record = Record(invocation.request_id, invocation.kind, came, done - invocation.arrived, report)
        self._kept.append(record)
        for listener in self.listeners:
            listener(record)

    def sums(self) -> dict[str, Any]:
        return asdict(self.totals) | {"gb_seconds": round(self.totals.gb_seconds, 6)}


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
