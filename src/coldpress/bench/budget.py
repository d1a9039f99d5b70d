"""Budgets: what figures may be at most, so that a change that breaks a promise breaks the build."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from coldpress.bench.result import Bench, Percentiles
from coldpress.errors import UsageError

_TIMES = {"ms": 1.0, "s": 1000.0, "us": 0.001}
_SIZES = {"MB": 1.0, "KB": 0.001, "GB": 1000.0}
_RATES = {"/s": 1.0, "": 1.0}
_DOLLARS = {"$": 1.0, "": 1.0}
_NUMBER = re.compile(r"(\$?)\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*(\S*)")


@dataclass(frozen=True)
class Limit:
    """One part of a budget: `p95@128 tokens` is of that request, without an @ it is of the usual one."""

    figure: str
    request: str | None
    value: float
    #: as it was written
    text: str


@dataclass(frozen=True)
class Kept:
    """A limit, what was measured, and whether it is kept."""

    what: str
    measured: float
    limit: float
    unit: str
    at_least: bool
    ok: bool


@dataclass(frozen=True)
class _Figure:
    what: str
    unit: str
    units: dict[str, float]
    read: Callable[[Bench, str], float]
    #: whether it is of one request, and whether more of it is better
    by_request: bool = False
    at_least: bool = False


def _warm(name: str) -> Callable[[Bench, str], float]:
    def read(bench: Bench, request: str) -> float:
        of: Percentiles = bench.warm[request].of
        value: float = getattr(of, name)
        return value

    return read


FIGURES = {
    "cold": _Figure("cold start, median", "ms", _TIMES, lambda bench, _: bench.cold.of.p50),
    "cold-p95": _Figure("cold start, p95", "ms", _TIMES, lambda bench, _: bench.cold.of.p95),
    **{name: _Figure(f"warm {name}", "ms", _TIMES, _warm(name), True) for name in ("p50", "p90", "p95", "p99")},
    "throughput": _Figure(
        "throughput", "/s", _RATES, lambda bench, request: bench.warm[request].throughput, True, True
    ),
    "rss": _Figure("peak memory", "MB", _SIZES, lambda bench, _: bench.peak_mb),
    "zip": _Figure("function.zip", "MB", _SIZES, lambda bench, _: (bench.zip_bytes or 0) / 1e6),
    "function": _Figure("function, unzipped", "MB", _SIZES, lambda bench, _: bench.function_bytes / 1e6),
    "cost": _Figure("a million usual requests", "$", _DOLLARS, lambda bench, _: bench.cost_per_million),
}


def read_budget(text: str) -> list[Limit]:
    """`cold=150ms,p95=50ms,zip=40MB`: what is wrong is named."""
    limits: list[Limit] = []
    for part in text.split(","):
        limit = _limit(part.strip())
        if any((one.figure, one.request) == (limit.figure, limit.request) for one in limits):
            raise UsageError(f"--budget names {part.strip().partition('=')[0]!r} twice")
        limits.append(limit)
    return limits


def check_budget(limits: list[Limit], bench: Bench) -> list[Kept]:
    return [_kept(limit, bench) for limit in limits]


def check_requests(limits: list[Limit], requests: list[str], has_zip: bool) -> None:
    """Before anything is measured: whether there will be such figures."""
    for limit in limits:
        if limit.request is not None and limit.request not in requests:
            known = ", ".join(map(repr, requests))
            raise UsageError(f"--budget {limit.text!r}: there is no request {limit.request!r}; there are: {known}")
        if limit.figure == "zip" and not has_zip:
            raise UsageError(
                f"--budget {limit.text!r}: this artifact has no function.zip; use function=…MB instead"
            )


def _limit(part: str) -> Limit:
    name, equals, said = (one.strip() for one in part.partition("="))
    figure, at, request = (one.strip() for one in name.partition("@"))
    if not equals or not said:
        raise UsageError(f"--budget has {part!r}, which is not FIGURE=LIMIT such as cold=150ms")
    if figure not in FIGURES:
        raise UsageError(f"--budget has {part!r}: there is no figure {figure!r}; there are: {', '.join(FIGURES)}")
    if at and not (request and FIGURES[figure].by_request):
        raise UsageError(f"--budget has {part!r}: {figure} is not of one request, or none is named after the @")
    found = FIGURES[figure]
    number = _NUMBER.fullmatch(said)
    units = ", ".join(filter(None, found.units))
    if number is None or (number[1] and found.unit != "$"):
        raise UsageError(f"--budget has {part!r}: {said!r} is not a number with a unit of: {units}")
    if number[3] not in found.units:
        raise UsageError(f"--budget has {part!r}: the unit of {figure} is one of: {units}, not {number[3]!r}")
    value = float(number[2]) * found.units[number[3]]
    if not (math.isfinite(value) and value > 0):
        raise UsageError(f"--budget has {part!r}: a limit is above 0")
    return Limit(figure, request or None, value, part)


def _kept(limit: Limit, bench: Bench) -> Kept:
    found = FIGURES[limit.figure]
    request = limit.request or bench.usual
    measured = found.read(bench, request)
    ok = measured >= limit.value if found.at_least else measured <= limit.value
    what = f"{found.what}, {request}" if found.by_request else found.what
    return Kept(what, measured, limit.value, found.unit, found.at_least, ok)
