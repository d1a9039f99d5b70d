"""An artifact's own figures, as a comparison wants them."""

from pathlib import Path
from statistics import mean, median

from coldpress.artifact import Artifact
from coldpress.bench.result import BENCH, Bench
from coldpress.bench.run import run_bench
from coldpress.cost.compare import Work
from coldpress.cost.plan.options import PLACING_MS_PER_MB
from coldpress.cost.plan.profile import from_bench
from coldpress.errors import UsageError
from coldpress.progress import Progress

#: enough for a price; `coldpress bench` takes more
_COLD, _WARM = 5, 40


def measured_works(folder: Path, memory_mb: int | None = None, progress: Progress | None = None) -> list[Work]:
    """Each kind of request that was measured; without a bench.json they are measured now, and there is one."""
    Artifact.open(folder)
    if not (folder / BENCH).exists():
        run_bench(folder, memory_mb=memory_mb or 1769, cold_runs=_COLD, warm_runs=_WARM, progress=progress)
    bench = Bench.load(folder)
    return [_work(bench, folder, request, memory_mb) for request in bench.warm]


def _work(bench: Bench, folder: Path, request: str, memory_mb: int | None) -> Work:
    profile = from_bench(bench, request)
    memory = memory_mb or profile.memory_mb
    if memory not in profile.times:
        known = ", ".join(map(str, profile.times))
        raise UsageError(
            f"{memory} MB was not measured; there are: {known} MB. Measure it: coldpress bench "
            f"{folder} --sizes {memory}"
        )
    times = profile.times[memory]
    ms = median(times.warm)
    source = f"{memory:,} MB; measured: {ms:.1f} ms warm, {bench.machine.cpu}"
    cold, placing = mean(init for init, _ in times.cold), PLACING_MS_PER_MB * profile.package_mb
    return Work(f"{bench.name}, {request}", ms, memory, cold, bench.arch, source, times, placing)
