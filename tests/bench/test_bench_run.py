"""Measured for real, with few runs. Nothing here is asserted of how fast this machine is today."""

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from coldpress.artifact import Artifact
from coldpress.bench.result import Bench
from coldpress.bench.run import run_bench
from coldpress.bench.waterfall import PHASES
from coldpress.cost import lambda_cost_per_million
from coldpress.errors import MissingPart, UsageError

COLDPRESS = str(Path(sys.executable).parent / "coldpress")
needs_groups = pytest.mark.usefixtures("groups")
QUICK = ("--cold", "2", "--warm", "3")


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COLDPRESS, "bench", *map(str, arguments)], capture_output=True, text=True, check=False)


def test_the_waterfall_is_the_cold_start(benched: Bench) -> None:
    cold = benched.cold
    assert len(cold.ms) == len(cold.init_ms) == 8
    assert all(0 < init < whole for init, whole in zip(cold.init_ms, cold.ms, strict=True))
    named = [phase.name for phase in cold.waterfall]
    assert named == [name for name in PHASES if name in named]
    assert {"interpreter", "imports", "library", "session", "ready", "answer"} <= {*named}
    ends = [phase.start_ms + phase.ms for phase in cold.waterfall]
    assert [phase.start_ms for phase in cold.waterfall] == pytest.approx([0.0, *ends[:-1]], abs=0.02)
    assert median(cold.ms) / 2 < ends[-1] < median(cold.ms) * 2


def test_each_import_is_there(benched: Bench) -> None:
    found = {one.name: one for one in benched.cold.imports}
    assert {
        "posix",
        "_ctypes",
        "coldpress_runtime.bootstrap",
        "coldpress_runtime.tasks.embeddings",
    } <= found.keys()
    bootstrap = found["coldpress_runtime.bootstrap"]
    assert bootstrap.total_ms > bootstrap.self_ms
    assert found["coldpress_runtime.function"].depth == bootstrap.depth + 1


def test_warm_requests_of_each_shape(benched: Bench) -> None:
    assert [*benched.warm] == ["16 tokens", "128 tokens", "8 texts of 64 tokens"]
    for warm in benched.warm.values():
        assert len(warm.ms) == 40
        assert min(warm.ms) <= warm.of.p50 <= warm.of.p95 <= warm.of.max == max(warm.ms)
        assert warm.throughput > 0
    assert benched.warm["16 tokens"].of.p50 < benched.warm["8 texts of 64 tokens"].of.p50
    assert 10 < benched.peak_mb < 200
    assert benched.usual == "16 tokens"
    assert benched.cost_per_million >= lambda_cost_per_million(min(benched.warm["16 tokens"].ms), 1769) - 1e-9


def test_it_is_left_in_the_artifact(measured: Artifact) -> None:
    assert Bench.load(measured.path).name == "minilm"
    assert measured.changed_files() == []


@needs_groups
def test_less_memory_is_less_cpu(benched: Bench) -> None:
    small, _, whole = benched.sweep
    assert (small.memory_mb, whole.memory_mb) == (128, 1769)
    assert small.fits and whole.fits
    assert median(small.cold_ms) >= 1.5 * median(whole.cold_ms)
    batch = "8 texts of 64 tokens"
    assert median(small.warm[batch]) >= 1.5 * median(whole.warm[batch])
    assert small.cold_billed_ms > whole.cold_billed_ms
    # one behind the other, with 7 % of a CPU: the share is all that counts
    assert small.throughput[batch] <= 0.15 * whole.throughput[batch]
    assert {*benched.recommended} == {"cost", "speed", "balanced"}
    assert {*benched.recommended.values()} <= {128, 512, 1769}


@needs_groups
def test_a_size_that_is_too_small(hungry: Path, tmp_path: Path) -> None:
    chart = tmp_path / "sizes.svg"
    done = run(hungry, *QUICK, "--sizes", "128,512", "--strategy", "cost", "--chart", chart)
    assert done.returncode == 0, done.stderr
    assert "128 MB does not fit: out of memory" in done.stdout and "take 512 MB for cost" in done.stdout
    small, enough = Bench.load(hungry).sweep
    assert (small.fits, small.why, small.cold_ms) == (False, "out of memory", [])
    assert enough.fits and enough.peak_mb > 300
    assert "does not fit: out of memory" in chart.read_text()


@needs_groups
def test_too_little_memory_for_all_of_it(hungry: Path) -> None:
    done = run(hungry, *QUICK, "--memory", "128")
    assert done.returncode == 1
    assert "does not fit 128 MB: out of memory" in done.stderr and "Traceback" not in done.stderr


def test_a_budget_that_is_kept_and_json(copied: Artifact) -> None:
    budget = "cold=60s,p95=60s,p99@128 tokens=60s,zip=40MB,rss=500MB,throughput=0.01/s,cost=$100"
    done = run(copied.path, *QUICK, "--json", "--budget", budget)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [one["ok"] for one in found["budget"]] == [True] * 7
    assert len(found["cold"]["ms"]) == 2 and len(found["warm"]["16 tokens"]["ms"]) == 3
    assert "fresh sandboxes" in done.stderr


def test_a_budget_that_is_broken(copied: Artifact) -> None:
    done = run(copied.path, *QUICK, "--data", '{"text": "hi"}', "--budget", "cold=1us,zip=40MB")
    assert done.returncode == 1
    assert "broken" in done.stdout and "ok" in done.stdout
    assert "your request" in done.stdout and "not on Lambda" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--budget", "cold=fast"), "'fast'"),
        (("--budget", "p95@1 picture=3ms"), "'1 picture'"),
        (("--sizes", "64"), "64 MB"),
        (("--memory", "20000"), "20000 MB"),
        (("--against", "magic"), "'magic'"),
        (("--usual", "tea"), "'tea'"),
        (("--chart", "bench.png"), "bench.png"),
        (("--strategy", "luck"), "luck"),
    ],
)
def test_used_wrongly(arguments: tuple[str, ...], says: str, copied: Artifact) -> None:
    done = run(copied.path, *arguments)
    assert done.returncode == 2
    assert says in done.stderr and done.stdout == ""


def test_a_request_that_is_refused(copied: Artifact) -> None:
    done = run(copied.path, *QUICK, "--data", '{"words": "hi"}')
    assert done.returncode == 1
    assert "did not answer" in done.stderr


def test_where_shares_cannot_be_held(copied: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    """One core is measured, and said to be no more than that; nothing is pretended of other sizes."""
    monkeypatch.setattr("coldpress.emulate.world.namespaces.find_groups", lambda: (None, "no groups today"))
    with pytest.raises(MissingPart, match="no groups today"):
        run_bench(copied.path, sweep=(128, 1769))
    with pytest.raises(MissingPart, match="no groups today"):
        run_bench(copied.path, memory_mb=512)
    assert not run_bench(copied.path, cold_runs=1, warm_runs=1).held


def test_nothing_to_count(copied: Artifact) -> None:
    with pytest.raises(UsageError, match="1 or more"):
        run_bench(copied.path, cold_runs=0)
