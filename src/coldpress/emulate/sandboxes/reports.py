"""What Lambda's REPORT line says of an invocation, and where its time went."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from coldpress.emulate.sandboxes.invocation import Invocation, Outcome, Report

#: shorter ones are not worth a line
_SHORTEST = 0.00005


@dataclass(frozen=True)
class Start:
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
        phases=_phases(invocation, outcome, start),
    )


def _phases(invocation: Invocation, outcome: Outcome, start: Start) -> list[dict[str, Any]]:
    """From its arrival on, each with its name, its beginning and its length."""
    marks = [("queue", invocation.arrived)]
    if start.init_ms is not None and start.started >= invocation.arrived:
        ready = start.born + start.init_ms / 1000
        marks += [("start", start.started), ("init", start.born), ("wake", ready)]
    else:
        marks.append(("wake", invocation.placed))
    marks += [("function", outcome.taken), ("", outcome.done)]
    return [
        {"name": name, "start_ms": round((at - invocation.arrived) * 1000, 3), "ms": round((until - at) * 1000, 3)}
        for (name, at), (_, until) in pairwise(marks)
        if until - at > _SHORTEST
    ]
