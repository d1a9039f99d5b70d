"""What a run comes to: percentiles, errors, cold starts, and whether the sender itself kept up."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from coldpress.traffic.answer import Start
from coldpress.traffic.rows import Kind, Rows

#: later than this is late; a turn of the sender's loop takes a tenth of it
LATE_MS = 5.0
#: with more than this share late, the latencies are partly the sender's own
LATE_SHARE = 0.01
#: bounds of the histogram, eight to each doubling: within 9 % of the truth, from 0.01 ms to 20 minutes
_BOUNDS = [0.01 * 2 ** (step / 8) for step in range(217)]


@dataclass(frozen=True)
class Percentiles:
    """Milliseconds. Each is a latency that was seen: so many of all are no longer than it."""

    count: int
    p50: float
    p90: float
    p95: float
    p99: float
    p999: float
    max: float


@dataclass(frozen=True)
class Cold:
    """Of the answers that told how they were started. Latency is the caller's, init the sandbox's."""

    told: int
    count: int
    share: float
    latency_ms: Percentiles | None
    init_ms: Percentiles | None


@dataclass(frozen=True)
class Punctuality:
    """How far the sender kept to its schedule. `waited` are those that found all connections in use."""

    on_time: bool
    late: int
    late_over_ms: float
    waited: int
    lag_ms: Percentiles | None


@dataclass(frozen=True)
class Summary:
    """Latency counts from the scheduled time, service from the actual sending; neither counts quick failures."""

    seconds: float
    interrupted: bool
    scheduled: int
    #: under way when it was interrupted
    unfinished: int
    good: int
    #: a second: scheduled, and answered well
    offered_rate: float
    achieved_rate: float
    latency_ms: Percentiles | None
    service_ms: Percentiles | None
    errors: dict[str, int]
    statuses: dict[str, int]
    problems: dict[str, int]
    #: None where no answer tells
    cold: Cold | None
    duration_ms: Percentiles | None
    billed_ms: float | None
    sender: Punctuality
    bytes_sent: int
    bytes_received: int
    #: upper bounds in milliseconds, and how many latencies are below each and above the one before
    histogram: list[tuple[float, int]]

    @property
    def failed(self) -> int:
        return sum(self.errors.values())


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """The least value that `share` of all do not exceed; None of nothing."""
    if not ordered:
        return None
    return ordered[max(0, math.ceil(share * len(ordered) - 1e-9) - 1)]


def percentiles(values: Iterable[float]) -> Percentiles | None:
    ordered = sorted(value for value in values if not math.isnan(value))
    if not ordered:
        return None
    p50, p90, p95, p99, p999 = (percentile(ordered, share) or 0.0 for share in (0.5, 0.9, 0.95, 0.99, 0.999))
    return Percentiles(len(ordered), p50, p90, p95, p99, p999, ordered[-1])


def summarize(
    rows: Rows,
    *,
    sent: int,
    seconds: float,
    planned: float,
    interrupted: bool,
    bytes_sent: int,
    bytes_received: int,
) -> Summary:
    """Of `sent` requests that were to take `planned` seconds and took `seconds`."""
    good = rows.kinds[Kind.GOOD]
    sending = min(planned, seconds) or seconds
    return Summary(
        seconds=seconds,
        interrupted=interrupted,
        scheduled=sent,
        unfinished=sent - len(rows),
        good=good,
        offered_rate=sent / max(sending, 1e-3),
        achieved_rate=good / max(seconds, 1e-3),
        latency_ms=percentiles(rows.latency_ms[row] for row in rows.timed()),
        service_ms=percentiles(map(rows.service_ms, rows.timed())),
        errors={kind.name.lower(): rows.kinds[kind] for kind in Kind if kind != Kind.GOOD},
        statuses={str(status): number for status, number in sorted(Counter(rows.status).items()) if status},
        problems=dict(rows.problems.most_common()),
        cold=_cold(rows),
        duration_ms=percentiles(rows.duration_ms),
        billed_ms=_total(rows.billed_ms),
        sender=_punctuality(rows),
        bytes_sent=bytes_sent,
        bytes_received=bytes_received,
        histogram=histogram(rows.latency_ms[row] for row in rows.timed()),
    )


def histogram(values: Iterable[float]) -> list[tuple[float, int]]:
    """Counts from the first bound that has any to the last; what is beyond all of them belongs to the last."""
    counts = Counter(min(bisect_right(_BOUNDS, value), len(_BOUNDS) - 1) for value in values)
    if not counts:
        return []
    return [(round(_BOUNDS[at], 4), counts[at]) for at in range(min(counts), max(counts) + 1)]


def _cold(rows: Rows) -> Cold | None:
    told, count = rows.starts[Start.WARM] + rows.starts[Start.COLD], rows.starts[Start.COLD]
    if not told:
        return None
    cold = [row for row, start in enumerate(rows.start) if start == Start.COLD]
    latency = percentiles(rows.latency_ms[row] for row in cold)
    return Cold(told, count, count / told, latency, percentiles(rows.init_ms[row] for row in cold))


def _total(values: Iterable[float]) -> float | None:
    said = [value for value in values if not math.isnan(value)]
    return math.fsum(said) if said else None


def _punctuality(rows: Rows) -> Punctuality:
    late = sum(lag > LATE_MS and not waited for lag, waited in zip(rows.lag_ms, rows.waited, strict=True))
    waited = sum(rows.waited)
    on_time = late + waited <= LATE_SHARE * len(rows)
    return Punctuality(on_time, late, LATE_MS, waited, percentiles(rows.lag_ms))
