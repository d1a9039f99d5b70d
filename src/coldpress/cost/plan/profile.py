"""What is known of a function before its traffic is planned: how long it takes, cold and warm, at which memory."""

from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median

from coldpress.artifact import Artifact
from coldpress.bench.result import BENCH, Bench
from coldpress.cost.simulate import Times
from coldpress.emulate.world.cgroups import MB_PER_VCPU
from coldpress.errors import ArtifactError, UsageError
from coldpress.package.libraries import host_architecture


@dataclass(frozen=True)
class Profile:
    name: str
    arch: str
    #: by memory size in MB
    times: dict[int, Times]
    #: the size to keep to where a strategy needs one
    memory_mb: int
    #: requests a second of one vCPU
    throughput: float
    #: megabytes that Lambda fetches before an init
    package_mb: float
    #: where the figures are from
    source: str

    def warm_seconds(self, memory_mb: int) -> float:
        return mean(self.times[memory_mb].warm) / 1000


def from_bench(bench: Bench, request: str | None = None) -> Profile:
    """Measured figures, for requests of one shape."""
    request = request or bench.usual
    if request not in bench.warm:
        raise UsageError(f"{request!r} was not measured; there are: {', '.join(bench.warm)}")
    sizes = {}
    for size in bench.sweep:
        if size.fits and request in size.warm:
            times = _times(size.cold_ms, size.init_ms, size.warm[request], size.warm[bench.usual])
            # one behind the other they get the share and no more: so much of it is a request's
            cpu_ms = min(size.cpu_share, 1.0) * 1000 / size.throughput[request]
            sizes[size.memory_mb] = replace(times, cpu_ms=cpu_ms, share=min(size.cpu_share, 1.0))
    warm, usual = bench.warm[request].ms, bench.warm[bench.usual].ms
    sizes.setdefault(bench.memory_mb, _times(bench.cold.ms, bench.cold.init_ms, warm, usual))
    chosen = bench.recommended.get("balanced", bench.memory_mb)
    return Profile(
        name=bench.name,
        arch=bench.arch,
        times=dict(sorted(sizes.items())),
        memory_mb=chosen if chosen in sizes else bench.memory_mb,
        throughput=bench.warm[request].throughput / (bench.memory_mb / MB_PER_VCPU),
        package_mb=(bench.zip_bytes or bench.function_bytes) / 1e6,
        source=f"measured here with {request}, {bench.machine.cpu}",
    )


def _times(cold: list[float], init: list[float], warm: list[float], usual: list[float]) -> Times:
    """A cold start was measured with the usual request; another takes longer by as much as it does warm."""
    longer = max(0.0, median(warm) - median(usual))
    pairs = [(before, max(0.0, whole - before) + longer) for whole, before in zip(cold, init, strict=True)]
    return Times(warm, pairs)


def from_figures(name: str, arch: str, memory_mb: int, ms: float, cold_ms: float) -> Profile:
    """What a person says, taken as exact."""
    return Profile(
        name=name,
        arch=arch,
        times={memory_mb: Times([ms], [(cold_ms, ms)])},
        memory_mb=memory_mb,
        throughput=1000 / ms / min(1.0, memory_mb / MB_PER_VCPU),
        package_mb=0.0,
        source=f"as given: {ms:g} ms, {cold_ms:g} ms more when cold",
    )


def find_profile(
    folder: Path | None, request: str | None, ms: float | None, cold_ms: float, memory_mb: int | None
) -> Profile:
    """As a person says it: an artifact that was measured, or is now; or plain figures."""
    if (folder is None) == (ms is None):
        raise UsageError("name an artifact, or give --ms (and --cold-ms, --memory) instead")
    if folder is not None and cold_ms:
        raise UsageError(f"--cold-ms {cold_ms:g} belongs to --ms: {folder} has its own cold starts")
    if folder is None and request:
        raise UsageError(f"--request {request!r} is of an artifact that was measured; --ms is one request")
    if folder is None:
        assert ms is not None
        return from_figures("a function", host_architecture(), memory_mb or 1769, ms, cold_ms)
    artifact = Artifact.open(folder)
    if not (folder / BENCH).exists():
        raise ArtifactError(
            f"{folder} was not measured, and a plan draws from measurements: coldpress bench {folder} --sweep"
        )
    return from_bench(Bench.load(artifact.path), request)
