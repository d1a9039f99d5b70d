"""What these tests share: one artifact, measured once, and a result that nobody measured."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import coldpress
from coldpress.artifact import Artifact
from coldpress.bench.result import Bench, Cold, Import, Machine, Peer, Percentiles, Phase, Size, Warm
from coldpress.emulate.world.cgroups import find_groups

Sized = Callable[..., Size]


@pytest.fixture(scope="session")
def groups() -> None:
    """For tests that need them."""
    found, why = find_groups()
    if found is None:
        pytest.skip(why)
    found.close()


@pytest.fixture(scope="session")
def copied(artifact: Artifact, tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """The shared artifact, where a bench.json bothers nobody."""
    place = tmp_path_factory.mktemp("bench") / "minilm"
    shutil.copytree(artifact.path, place)
    return Artifact.open(place)


@pytest.fixture(scope="session")
def benched(measured: Artifact) -> Bench:
    return Bench.load(measured.path)


HUNGRY = """
class Model:
    def load(self, ctx):
        self.food = bytes(range(256)) * (300 * 4096)

    def predict(self, inputs):
        return {"bytes": len(self.food)}
"""


@pytest.fixture(scope="session")
def hungry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A function that takes 300 MB."""
    folder = tmp_path_factory.mktemp("hungry") / "hungry"
    folder.mkdir()
    toml = '[function]\ncode = "model.py:Model"\n[samples]\nrequests = [{ a = 1 }]\n'
    (folder / "coldpress.toml").write_text(toml)
    (folder / "model.py").write_text(HUNGRY)
    return coldpress.build(folder, out=folder.parent / "out", package="none").path


@pytest.fixture(scope="session")
def sized() -> Sized:
    return _sized


def _sized(memory_mb: int, p95: float, cost: float, fits: bool = True) -> Size:
    warm = {"16 tokens": [p95]} if fits else {}
    return Size(
        memory_mb,
        memory_mb / 1769,
        fits,
        "" if fits else "out of memory",
        [20.0],
        [15.0],
        warm,
        dict.fromkeys(warm, 400.0),
        30.0,
        p95,
        20.0,
        cost,
        1.0,
    )


@pytest.fixture
def made() -> Bench:
    times = [2.0, 1.0, 3.0]
    return Bench(
        name="minilm",
        arch="x86_64",
        coldpress="0.1.0",
        measured="2026-01-31",
        machine=Machine("a CPU", 2, "3.11.7"),
        memory_mb=1769,
        held=True,
        usual="16 tokens",
        cold=Cold(
            [15.0, 14.0, 16.0],
            [12.0, 11.0, 13.0],
            [Phase("interpreter", 0.0, 10.0), Phase("answer", 10.0, 5.0)],
            [Import("posix", 0.3, 0.3, 0)],
            Percentiles.of([15.0, 14.0, 16.0]),
        ),
        warm={
            "16 tokens": Warm("text: word …", 80, times, Percentiles.of(times), 500.0),
            "128 tokens": Warm("text: word …", 640, [9.0], Percentiles.of([9.0]), 90.0),
        },
        peak_mb=29.0,
        zip_bytes=22_300_000,
        function_bytes=26_000_000,
        billed_ms=2.0,
        cold_billed_ms=17.0,
        cost_per_million=0.26,
        cold_cost_per_million=0.71,
        sweep=[_sized(128, 100.0, 0.2), _sized(64, 0.0, 0.0, fits=False)],
        recommended={"cost": 128, "speed": 128, "balanced": 128},
        against=[Peer("coldpress", "press", [15.0], {"16 tokens": [2.0], "128 tokens": [9.0]}, 29, 26, 1, 1, 1)],
    )
