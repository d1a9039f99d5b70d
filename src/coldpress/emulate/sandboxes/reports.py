"""What Lambda's REPORT line says of an invocation, and where its time went."""

from itertools import pairwise
from typing import Any, NamedTuple

from coldpress.emulate.sandboxes.invocation import Invocation, Outcome, Report

#: shorter ones are not worth a line
_SHORTEST = 0.00005


class Start(NamedTuple):
    """A sandbox's beginning, by time.monotonic(), and what of it the invocation pays for."""

    started: float
    born: float
    init_ms: float | None
    restore_ms: float | None


def make_report(
    invocation: Invocation, outcome: Outcome, start: Start, sandbox: str, memory_mb: int, status: str
) -> Report:
    duration = (outcome.done - outcome.taken) * 1000
    billed = duration + (start.init_ms or 0.0) + (start.restore_ms or 0.0)
    return Report(
        request_id=invocation.request_id,
        duration_ms=duration,
        billed_ms=int(-(-billed // 1)),
        memory_mb=memory_mb,
        init_ms=start.init_ms,
        restore_ms=start.restore_ms,
        error_type=outcome.error_type,
        status=status,
        sandbox=sandbox,
        marks=_marks(invocation, outcome, start),
    )


def _marks(invocation: Invocation, outcome: Outcome, start: Start) -> tuple[tuple[str, float], ...]:
    came, ended = ("queue", invocation.arrived), (("function", outcome.taken), ("", outcome.done))
    if start.init_ms is None or start.started < invocation.arrived:
        return (came, ("wake", invocation.placed), *ended)
    ready = start.born + start.init_ms / 1000
    return (came, ("start", start.started), ("init", start.born), ("wake", ready), *ended)


def phases(report: Report) -> list[dict[str, Any]]:
    """From its arrival on, each with its name, its beginning and its length in milliseconds."""
    return [
        {"name": name, "start_ms": round((at - report.marks[0][1]) * 1000, 3), "ms": round((until - at) * 1000, 3)}
        for (name, at), (_, until) in pairwise(report.marks)
        if until - at > _SHORTEST
    ]
