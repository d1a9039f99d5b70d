"""How a function is watched: when somebody is to be told that it fails, or that it is slow."""

import re
from dataclasses import dataclass
from pathlib import Path

from coldpress.bench.result import BENCH, Bench, percentile
from coldpress.errors import UsageError

#: with it a function writes its metrics
METRICS = "COLDPRESS_METRICS"
_TOPIC = re.compile(r"arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}")
#: of what was measured, and of the timeout: beyond it a request is slow
_TIMES_MEASURED, _OF_TIMEOUT = 3, 0.5
_LEAST_MS = 50


@dataclass(frozen=True)
class Watch:
    #: told by either alarm, and told when it is over; None: they are seen on the dashboard only
    topic: str | None = None
    #: the p95 that is too slow; None: by what was measured
    latency_ms: int | None = None

    def __post_init__(self) -> None:
        if self.topic is not None and not _TOPIC.fullmatch(self.topic):
            raise UsageError(
                f"--alarm-topic {self.topic!r} is not a topic of SNS; write it as "
                f"arn:aws:sns:eu-west-1:123456789012:alarms (topics that keep an order take no alarms)"
            )


def slow_ms(folder: Path, memory_mb: int, timeout: int) -> int:
    """Beyond it a p95 is too slow: three times the slowest p99 that was measured warm at that size, to two digits;
    half of the timeout where nothing was measured, and at most."""
    most = int(timeout * 1000 * _OF_TIMEOUT)
    slowest = _slowest(folder, memory_mb)
    if slowest is None:
        return most
    wide = max(_LEAST_MS, int(slowest * _TIMES_MEASURED) + 1)
    step = int(10 ** (len(str(wide)) - 2))
    return min(most, -(-wide // step) * step)


def _slowest(folder: Path, memory_mb: int) -> float | None:
    if not (folder / BENCH).exists():
        return None
    bench = Bench.load(folder)
    size = next((one for one in bench.sweep if one.memory_mb == memory_mb and one.fits), None)
    if size is None and bench.memory_mb != memory_mb:
        return None
    shapes = size.warm if size else {name: one.ms for name, one in bench.warm.items()}
    return max((percentile(times, 0.99) for times in shapes.values()), default=None)
