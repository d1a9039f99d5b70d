"""What was measured, with every sample: bench.json, for whoever draws, simulates or compares."""

import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from coldpress.bench.reading import Damaged, read_as
from coldpress.errors import ArtifactError, TargetError

BENCH = "bench.json"
FORMAT = 2


def percentile(values: Iterable[float], share: float) -> float:
    """The least of `values` that `share` of them do not exceed; there must be one."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered) - 1e-9) - 1)]


@dataclass(frozen=True)
class Percentiles:
    """Each is a figure that was seen: so many of all are no larger than it."""

    p50: float
    p90: float
    p95: float
    p99: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Percentiles":
        p50, p90, p95, p99 = (percentile(values, share) for share in (0.5, 0.9, 0.95, 0.99))
        return cls(p50, p90, p95, p99, max(values))


@dataclass(frozen=True)
class Machine:
    """Where it was measured: not on Lambda."""

    cpu: str
    cores: int
    python: str


@dataclass(frozen=True)
class Phase:
    """A stretch of a cold start; `start_ms` counts from the process's start."""

    name: str
    start_ms: float
    ms: float


@dataclass(frozen=True)
class Import:
    """A Python module in a traced start: `self_ms` without what it imports itself, which lies `depth` deeper."""

    name: str
    self_ms: float
    total_ms: float
    depth: int


@dataclass(frozen=True)
class Cold:
    #: process start to first answer, of each fresh sandbox
    ms: list[float]
    #: what Lambda bills as init of it
    init_ms: list[float]
    #: medians of starts that were traced, which load one thing after the other
    waterfall: list[Phase]
    imports: list[Import]
    of: Percentiles


@dataclass(frozen=True)
class Warm:
    """Requests of one shape to a sandbox that was warm."""

    what: str
    request_bytes: int
    #: each as Lambda bills it: from the request's handing over to its answer
    ms: list[float]
    of: Percentiles
    #: requests a second of one sandbox that is asked without a pause
    throughput: float


@dataclass(frozen=True)
class Size:
    """A memory size, with the share of a vCPU that it buys. Costs are dollars, of the usual request."""

    memory_mb: int
    cpu_share: float
    fits: bool
    #: why it does not
    why: str
    cold_ms: list[float]
    init_ms: list[float]
    warm: dict[str, list[float]]
    #: of each shape, requests a second when one comes right behind the other and none finds its share rested
    throughput: dict[str, float]
    peak_mb: float
    #: milliseconds that are paid for, each request's rounded up: the mean; a cold one's with its init
    billed_ms: float
    cold_billed_ms: float
    #: of a million warm requests, and of a million that each start a sandbox
    cost_per_million: float
    cold_cost_per_million: float


@dataclass(frozen=True)
class Peer:
    """A way to serve the same model, measured in the same rounds; the first one is ours."""

    name: str
    what: str
    cold_ms: list[float]
    warm: dict[str, list[float]]
    peak_mb: float
    #: unpacked, model included
    packages_mb: float
    #: of its answer to ours
    cosine: float
    #: how many times ours: cold, and warm with the usual request
    cold_ratio: float
    warm_ratio: float


@dataclass(frozen=True)
class Bench:
    """All of it. Figures are this machine's."""

    name: str
    arch: str
    #: as coldpress.json has it: which build was measured
    coldpress: str
    #: the day, as 2026-01-31
    measured: str
    machine: Machine
    memory_mb: int
    #: whether control groups held the function to that memory and to the CPU that it buys
    held: bool
    #: the request that costs, budgets and recommendations are about: a key of `warm`
    usual: str
    cold: Cold
    warm: dict[str, Warm]
    peak_mb: float
    #: bytes; None where there is no zip
    zip_bytes: int | None
    function_bytes: int
    billed_ms: float
    cold_billed_ms: float
    cost_per_million: float
    cold_cost_per_million: float
    sweep: list[Size] = field(default_factory=list)
    #: strategy → megabytes, of the sizes that fit
    recommended: dict[str, int] = field(default_factory=dict)
    against: list[Peer] = field(default_factory=list)
    local: bool = True

    def as_json(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}

    def save(self, folder: Path) -> Path:
        """Write bench.json into `folder`, whole or not at all."""
        path, partial = folder / BENCH, folder / f".{BENCH}.{os.getpid()}.partial"
        try:
            partial.write_text(json.dumps(self.as_json(), indent=1, allow_nan=False) + "\n", encoding="utf-8")
            partial.replace(path)
        except OSError as error:
            raise TargetError(f"{path} cannot be written: {error.strerror}") from None
        finally:
            partial.unlink(missing_ok=True)
        return path

    @classmethod
    def load(cls, folder: Path) -> "Bench":
        path = folder / BENCH
        again = f"measure it again: coldpress bench {folder}"
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ArtifactError(
                f"{folder} has no {BENCH}: it was not measured. Do so: coldpress bench {folder}"
            ) from None
        except (OSError, ValueError, RecursionError) as error:
            raise ArtifactError(f"{path} cannot be read: {error}; {again}") from None
        found = content.pop("format", None) if isinstance(content, dict) else None
        if found != FORMAT:
            raise ArtifactError(f"{path} has format {found!r}; this coldpress reads format {FORMAT}: {again}")
        try:
            bench = read_as(cls, content, "")
        except Damaged as error:
            raise ArtifactError(f"{path} is damaged: {error}; {again}") from None
        if bench.usual not in bench.warm:
            raise ArtifactError(f"{path} is damaged: usual is {bench.usual!r}, which was not measured; {again}")
        return bench
