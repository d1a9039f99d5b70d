"""When requests are due: durations as people write them, even and Poisson times, absurd figures."""

import math
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import mean, pstdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldpress.errors import UsageError
from coldpress.traffic.plan import of_rate, of_trace
from coldpress.traffic.schedule import LONGEST, even, poisson, seconds, spread

UNHURRIED = settings(deadline=None)  # the machine may be busy


@pytest.mark.parametrize(
    ("text", "value"), [("500ms", 0.5), ("30s", 30), ("5m", 300), ("1h", 3600), ("1.5s", 1.5), (" 2s ", 2)]
)
def test_durations(text: str, value: float) -> None:
    assert seconds(text) == pytest.approx(value)


@UNHURRIED
@given(st.integers(1, 10_000), st.sampled_from([("ms", 0.001), ("s", 1.0), ("m", 60.0)]))
def test_any_duration(number: int, unit: tuple[str, float]) -> None:
    if number * unit[1] <= LONGEST:
        assert seconds(f"{number}{unit[0]}") == pytest.approx(number * unit[1])


@UNHURRIED
@given(st.text(max_size=12))
def test_what_is_no_duration_is_named(text: str) -> None:
    try:
        value = seconds(text)
    except UsageError as error:
        assert repr(text) in str(error) or "out of range" in str(error)
    else:
        assert 0 < value <= LONGEST


@pytest.mark.parametrize("text", ["", "30", "s", "-1s", "0s", "1e3s", "25h", "nan s", "1d", "٣s"])
def test_wrong_durations(text: str) -> None:
    with pytest.raises(UsageError):
        seconds(text)


@UNHURRIED
@given(st.floats(1, 50_000), st.integers(1, 300))
def test_even_times(rate: float, count: int) -> None:
    duration = count / rate
    times = [at for at, _ in even(rate, duration)]
    assert len(times) == count
    assert times[0] == 0
    assert times[-1] < duration
    assert all(math.isclose(after - before, 1 / rate, rel_tol=1e-6) for before, after in pairwise(times))


def test_poisson_times() -> None:
    times = [at for at, _ in poisson(200, 100, seed=7)]
    assert times == [at for at, _ in poisson(200, 100, seed=7)]
    assert times != [at for at, _ in poisson(200, 100, seed=8)]
    assert times == sorted(times)
    assert times[-1] < 100
    assert len(times) == pytest.approx(20_000, rel=0.03)
    pauses = [after - before for before, after in pairwise(times)]
    assert mean(pauses) == pytest.approx(1 / 200, rel=0.03)
    assert pstdev(pauses) == pytest.approx(mean(pauses), rel=0.05)  # as an exponential's


@UNHURRIED
@given(st.integers(0, 300), st.integers(0, 1000), st.booleans())
def test_counts_are_spread_within_their_time(count: int, seed: int, scatter: bool) -> None:
    times = [at for at, _ in spread(120.0, 60.0, count, Random(seed) if scatter else None)]
    assert len(times) == count
    assert times == sorted(times)
    assert all(120 <= at <= 180 for at in times)


def test_scattered_counts_are_uniform() -> None:
    times = [at for at, _ in spread(0.0, 60.0, 60_000, Random(3))]
    for minute in range(6):
        assert sum(10 * minute <= at < 10 * (minute + 1) for at in times) == pytest.approx(10_000, rel=0.05)


@pytest.mark.parametrize(
    ("rate", "duration", "named"),
    [
        (0, 1, "a rate of 0 "),
        (-3, 1, "a rate of -3"),
        (float("nan"), 1, "a rate of nan"),
        (100_001, 1, "at most 100,000"),
        (1, 0, "a duration of 0 s"),
        (0.1, 1, "less than one request"),
        (100_000, 80_000, "too many for one run"),
    ],
)
def test_absurd_figures(rate: float, duration: float, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        of_rate(rate, duration, scatter=True, seed=0)


def test_a_trace_at_another_speed(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("10\n12\n20\n")
    plan = of_trace(trace, 4, scatter=True, seed=0)
    assert list(plan.arrivals) == [(0.0, None), (0.5, None), (2.5, None)]
    assert plan.seconds == 2.5
    for speed in (0, -1, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="speed"):
            of_trace(trace, speed, scatter=True, seed=0)
    trace.write_text("0\n1e9\n")
    with pytest.raises(UsageError, match=r"takes 277,777.8 h at --speed 1; the longest is 24 h"):
        of_trace(trace, 1, scatter=True, seed=0)
