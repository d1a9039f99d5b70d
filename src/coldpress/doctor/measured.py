"""What was measured against what is asked for: the init's ten seconds, memory, time-out.

Figures are this machine's. Where a smaller size is asked for than was measured, times grow by the CPU that it
lacks.
"""

from coldpress.bench.result import Bench
from coldpress.doctor.case import Case
from coldpress.doctor.finding import Finding, green, red, yellow
from coldpress.emulate.sandboxes.settings import INIT_TIMEOUT
from coldpress.errors import ArtifactError
from coldpress.words import ms_text

#: milliseconds of init: local figures are not Lambda's, so the limit is kept at a distance
_INIT_LONG, _INIT_TOO_LONG = 3_000.0, 8_000.0
#: of a limit
_NEAR = 0.8


def bench_there(case: Case) -> Finding:
    name, again = "measured", f"coldpress bench {case.artifact.path} --sweep"
    try:
        bench = case.bench
    except ArtifactError as error:
        return yellow(name, str(error), why="memory, time-out and init cannot be judged", fix=again)
    if bench is None:
        why = "memory, time-out and init are guesses until it is measured"
        return yellow(name, "there is no bench.json", why=why, fix=again)
    other = _other_build(bench, case)
    if other:
        return yellow(
            name,
            f"bench.json is of another build: {other}",
            why="memory, time-out and init are judged by another function's figures",
            fix=again,
        )
    return green(name, f"on {bench.measured}, {bench.machine.cpu} (not on Lambda)")


def init(case: Case) -> Finding | None:
    name, figures = "init", case.figures
    ms = case.built_cold_ms if figures is None else None if figures.why else figures.init_ms
    if ms is None:
        return None
    said = f"{ms_text(ms)} of {INIT_TIMEOUT:.0f} s, {_with(case)}"
    why = f"after {INIT_TIMEOUT:.0f} s Lambda kills it, runs it again inside the first request, and bills both"
    fix = (
        "--memory 1769 or more (init gets more CPU), a smaller model (--precision int8), less at import in custom "
        "code, or --snapstart"
    )
    if ms >= _INIT_TOO_LONG:
        return red(name, said, why=why, fix=fix)
    if ms >= _INIT_LONG:
        return yellow(name, said, why=why, fix=fix)
    return green(name, said)


def memory(case: Case) -> Finding | None:
    name, figures, size = "memory", case.figures, case.memory_mb
    if figures is None:
        return None
    more = _next_size(figures.peak_mb)
    if figures.why:
        return red(
            name,
            f"{size} MB was measured and does not fit: {figures.why}",
            why="the function ends with Runtime.OutOfMemory, or never answers",
            fix=f"--memory {max(more, 2 * size)}",
        )
    said = f"{figures.peak_mb:.0f} MB at most, of {size}"
    if figures.peak_mb >= size:
        return red(name, said, why="the function ends with Runtime.OutOfMemory", fix=f"--memory {more}, or more")
    if figures.peak_mb > _NEAR * size:
        why = "a larger request than those measured ends with Runtime.OutOfMemory"
        return yellow(name, said, why=why, fix=f"--memory {more}, or more")
    return green(name, said)


def timeout(case: Case) -> Finding | None:
    figures = case.figures
    if figures is None or figures.why:
        return None
    name, limit = "time-out", 1000 * case.settings.timeout
    worst = max(figures.p99_ms, figures.cold_ms)
    said = (
        f"{case.settings.timeout:g} s; a request takes {ms_text(figures.p99_ms)} (p99), a cold start with it "
        f"{ms_text(figures.cold_ms)}, {_with(case)}"
    )
    fix = f"--timeout {min(900, max(3, -(-int(3 * worst) // 1000)))}"
    if worst >= limit:
        why = "requests end with Sandbox.Timedout; after a failed init, the init counts too"
        return red(name, said, why=why, fix=fix)
    if worst > _NEAR * limit:
        return yellow(name, said, why="Lambda's CPUs may be slower than this one", fix=fix)
    return green(name, said)


def _other_build(bench: Bench, case: Case) -> str:
    """What tells that the figures are not this function's; a clock would not, since copies have other times."""
    manifest = case.artifact.manifest
    pairs = {
        "name": (bench.name, manifest["name"]),
        "architecture": (bench.arch, manifest["arch"]),
        "coldpress": (bench.coldpress, manifest["coldpress"]),
        "function's bytes": (bench.function_bytes, manifest["sizes"]["function"]),
        "zip's bytes": (bench.zip_bytes, manifest["sizes"]["zip"]),
    }
    return ", ".join(f"{what} {was} then, {now} now" for what, (was, now) in pairs.items() if was != now)


def _with(case: Case) -> str:
    figures = case.figures
    if figures is None:
        return "as the build measured it"
    if figures.exact or figures.memory_mb <= case.memory_mb:
        return f"measured here with {figures.memory_mb} MB"
    return f"measured here with {figures.memory_mb} MB, and reckoned for {case.memory_mb}"


def _next_size(peak_mb: float) -> int:
    """Room for half as much again, in steps that people use."""
    return min(10_240, max(128, -(-int(1.5 * peak_mb) // 128) * 128))


CHECKS = [bench_there, init, memory, timeout]
