"""From what was measured to what is too slow."""

from pathlib import Path

import pytest

from coldpress.bench.result import Bench, Cold, Machine, Percentiles, Size, Warm
from coldpress.deploy.watch import slow_ms


def warm(what: str, times: list[float]) -> Warm:
    return Warm(what, 20, times, Percentiles.of(times), 300.0)


def size(memory_mb: int, times: list[float], fits: bool = True) -> Size:
    shapes = {"16 tokens": times} if fits else {}
    figures = (30.0, 4.0, 20.0, 1.0, 2.0)
    return Size(memory_mb, 1.0, fits, "" if fits else "out of memory", [20.0], [15.0], shapes, {}, *figures)


def measured(folder: Path, slowest: float, *sizes: Size) -> Path:
    shapes = {"16 tokens": warm("16 tokens", [3.0, 4.0]), "512 tokens": warm("512 tokens", [3.0, slowest])}
    cold = Cold([20.0], [15.0], [], [], Percentiles.of([20.0]))
    made = Bench(
        "small",
        "x86_64",
        "1",
        "2026-01-31",
        Machine("cpu", 2, "3.11"),
        memory_mb=1769,
        held=True,
        usual="16 tokens",
        cold=cold,
        warm=shapes,
        peak_mb=30.0,
        zip_bytes=3,
        function_bytes=3,
        billed_ms=4.0,
        cold_billed_ms=20.0,
        cost_per_million=1.0,
        cold_cost_per_million=2.0,
        sweep=list(sizes),
    )
    made.save(folder)
    return folder


def test_nothing_was_measured(tmp_path: Path) -> None:
    assert slow_ms(tmp_path, 1769, 30) == 15_000 and slow_ms(tmp_path, 1769, 1) == 500


@pytest.mark.parametrize(
    ("slowest", "expected"), [(1.0, 50), (16.5, 50), (17.0, 52), (40.0, 130), (333.0, 1000), (9_000.0, 15_000)]
)
def test_three_times_the_slowest(tmp_path: Path, slowest: float, expected: int) -> None:
    """Rounded up to two digits; 50 ms at least, half of the timeout at most."""
    assert slow_ms(measured(tmp_path, slowest), 1769, 30) == expected


def test_at_the_size_that_is_wanted(tmp_path: Path) -> None:
    folder = measured(tmp_path, 40.0, size(512, [100.0]), size(128, [], fits=False), size(1769, [50.0]))
    assert slow_ms(folder, 512, 30) == 310
    assert slow_ms(folder, 1769, 30) == 160
    assert slow_ms(folder, 128, 30) == slow_ms(folder, 3008, 30) == 15_000, "not measured, or it did not fit"
