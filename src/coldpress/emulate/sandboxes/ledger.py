"""What a served function did so far: each request, the sums, and what they would have cost."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from coldpress.cost.book import price_book
from coldpress.emulate.sandboxes.invocation import Answered, Invocation

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


class Ledger:
    def __init__(self, arch: str) -> None:
        self.totals = Totals()
        self.requests: deque[dict[str, Any]] = deque(maxlen=_KEPT)
        self.listeners: list[Callable[[dict[str, Any]], None]] = []
        prices = price_book().lambda_
        self._request = prices.request.value
        self._gb_second = prices.gb_second[arch][0].price.value

    def answered(self, invocation: Invocation, answered: Answered) -> None:
        report, totals = answered.report, self.totals
        gb_seconds = report.billed_ms / 1000 * report.memory_mb / 1024
        totals.requests += 1
        totals.errors += not answered.outcome.ok
        cold = report.init_ms is not None or report.restore_ms is not None
        totals.cold_starts += cold
        totals.billed_ms += report.billed_ms
        totals.gb_seconds += gb_seconds
        totals.cost_usd += self._request + gb_seconds * self._gb_second
        self._record(
            invocation,
            answered.outcome.done,
            status=200,
            error=report.error_type or None,
            cold=cold,
            init_ms=_short(report.init_ms),
            duration_ms=_short(report.duration_ms),
            billed_ms=report.billed_ms,
            memory_mb=round(report.peak_mb, 1),
            sandbox=report.sandbox,
            phases=report.phases,
        )

    def throttled(self, invocation: Invocation) -> None:
        self.totals.throttled += 1
        nothing: dict[str, Any] = dict.fromkeys(("init_ms", "duration_ms", "billed_ms", "memory_mb", "sandbox"))
        self._record(
            invocation,
            time.monotonic(),
            status=429,
            error="TooManyRequestsException",
            cold=False,
            phases=[],
            **nothing,
        )

    def _record(self, invocation: Invocation, done: float, **facts: Any) -> None:
        total = (done - invocation.arrived) * 1000
        record = {
            "id": invocation.request_id,
            "at": round(time.time() - (time.monotonic() - invocation.arrived), 3),
            "kind": invocation.kind,
            "total_ms": _short(total),
            **facts,
        }
        self.requests.append(record)
        for listener in self.listeners:
            listener(record)

    def sums(self) -> dict[str, Any]:
        return asdict(self.totals) | {"gb_seconds": round(self.totals.gb_seconds, 6)}


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
