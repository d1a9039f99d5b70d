"""The simulator's library in C, by ctypes. Its source is in native/simulate."""

import ctypes
from array import array
from ctypes import POINTER, c_double, c_int, c_int64, c_uint32, c_uint64, c_void_p
from functools import lru_cache
from pathlib import Path

from coldpress.errors import ColdpressError
from coldpress.package.libraries import host_architecture

#: as in simulate.h
STEPS_BITS = 7
LEAST_EXPONENT = -10
STEPS = 34 << STEPS_BITS

Doubles = POINTER(c_double)


class FleetSettings(ctypes.Structure):
    _fields_ = (
        ("idle", c_double),
        ("concurrency", c_int64),
        ("scale_up", c_int64),
        ("scale_seconds", c_double),
        ("placing_ms", c_double),
        ("functions", c_int64),
        ("share", c_double),
        ("bucket_ms", c_double),
        ("cpu_ms", c_double),
        ("init_billed", c_int64),
        ("seed", c_uint64),
        ("warm", Doubles),
        ("warms", c_int64),
        ("init", Doubles),
        ("first", Doubles),
        ("colds", c_int64),
    )


class FleetTotals(ctypes.Structure):
    _fields_ = (
        ("requests", c_int64),
        ("cold", c_int64),
        ("provisioned", c_int64),
        ("over_limit", c_int64),
        ("over_scale_up", c_int64),
        ("billed_ms", c_int64),
        ("provisioned_ms", c_int64),
        ("peak", c_int64),
        ("provisioned_seconds", c_double),
        ("latency_ms", c_double),
        ("window_busy_seconds", c_double),
        ("window_peak", c_int64),
        ("histogram", c_int64 * STEPS),
    )


class ServersSettings(ctypes.Structure):
    _fields_ = (
        ("slots", c_int64),
        ("queue", c_int64),
        ("seed", c_uint64),
        ("service", Doubles),
        ("services", c_int64),
    )


class ServersTotals(ctypes.Structure):
    _fields_ = (
        ("requests", c_int64),
        ("lost", c_int64),
        ("waited", c_int64),
        ("wait_ms", c_double),
        ("latency_ms", c_double),
        ("busy_seconds", c_double),
        ("histogram", c_int64 * STEPS),
    )


class Source(ctypes.Structure):
    _fields_ = (("random", c_uint64 * 4), ("now", c_double), ("left", c_double))


_FUNCTIONS: dict[str, tuple[object, tuple[object, ...]]] = {
    "fleet_open": (c_void_p, (POINTER(FleetSettings),)),
    "fleet_close": (None, (c_void_p,)),
    "fleet_run": (c_int, (c_void_p, Doubles, POINTER(c_uint32), c_int64)),
    "fleet_provision": (None, (c_void_p, c_double, c_int64)),
    "fleet_advance": (None, (c_void_p, c_double)),
    "fleet_window": (None, (c_void_p,)),
    "fleet_totals": (None, (c_void_p, POINTER(FleetTotals))),
    "servers_open": (c_void_p, (POINTER(ServersSettings),)),
    "servers_close": (None, (c_void_p,)),
    "servers_run": (c_int, (c_void_p, Doubles, c_int64)),
    "servers_totals": (None, (c_void_p, POINTER(ServersTotals))),
    "source_open": (None, (POINTER(Source), c_uint64)),
    "source_fill": (c_int64, (POINTER(Source), c_double, c_double, Doubles, c_int64)),
    "spread_fill": (
        None,
        (POINTER(Source), c_double, c_double, c_int64, c_int64, Doubles, Doubles, c_int64),
    ),
    "owners_fill": (None, (POINTER(Source), Doubles, c_int64, POINTER(c_uint32), c_int64)),
}


@lru_cache
def library() -> ctypes.CDLL:
    path = Path(__file__).parent / f"libsimulate-{host_architecture()}.so"
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        raise ColdpressError(
            f"the traffic simulator {path.name} does not load: {error}; on Linux, from a clone of the project, "
            f"make it with: python native/build.py src/coldpress"
        ) from None
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


def doubles(values: "array[float]", skip: int = 0) -> "ctypes._Pointer[c_double]":
    """Where the numbers of an array lie, without a copy."""
    return ctypes.cast(values.buffer_info()[0] + 8 * skip, Doubles)


def owners(values: "array[int]", skip: int = 0) -> "ctypes._Pointer[c_uint32]":
    return ctypes.cast(values.buffer_info()[0] + 4 * skip, POINTER(c_uint32))


def percentile(histogram: "list[int]", share: float) -> float:
    """The latency in milliseconds that a share of the requests stays below; the middle of its step."""
    total = sum(histogram)
    if not total:
        return 0.0
    rank, seen = share * total, 0
    for step, count in enumerate(histogram):
        seen += count
        if seen >= rank and count:
            return _middle(step)
    return _middle(STEPS - 1)


def _middle(step: int) -> float:
    doubling, part = divmod(step, 1 << STEPS_BITS)
    return float(2.0 ** (doubling + LEAST_EXPONENT) * (1 + (part + 0.5) / (1 << STEPS_BITS)))
