"""Budgets: what a person writes, and what becomes of it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.bench.budget import FIGURES, check_budget, check_requests, read_budget
from coldpress.bench.result import Bench
from coldpress.errors import UsageError

numbers = st.floats(0.001, 1e6).map(lambda value: f"{value:.3f}")


@given(st.lists(st.sampled_from(sorted(FIGURES)), min_size=1, unique=True), st.data())
def test_what_is_written_is_what_is_meant(figures: list[str], data: st.DataObject) -> None:
    parts, expected = [], []
    for figure in figures:
        number = data.draw(numbers)
        unit, factor = data.draw(st.sampled_from(sorted(FIGURES[figure].units.items())))
        space = data.draw(st.sampled_from(["", " "]))
        parts.append(f"{space}{figure}{space}={space}{number}{space}{unit}")
        expected.append((figure, float(number) * factor))
    found = [(limit.figure, limit.value) for limit in read_budget(",".join(parts))]
    assert [name for name, _ in found] == [name for name, _ in expected]
    assert [value for _, value in found] == pytest.approx([value for _, value in expected])


@given(st.text(max_size=30) | st.text(alphabet="coldp95rszi=@.,0123456789msMB$/ ", max_size=30))
def test_anything_else_is_refused_with_a_reason(text: str) -> None:
    try:
        limits = read_budget(text)
    except UsageError as error:
        assert "--budget" in str(error)
    else:
        assert limits and all(limit.value > 0 for limit in limits)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", "''"),
        ("cold", "'cold'"),
        ("cold=", "'cold='"),
        ("cold=150ms,,zip=4MB", "''"),
        ("warm=3ms", "'warm'"),
        ("cold=150", "ms, s, us"),
        ("cold=150MB", "'MB'"),
        ("cold=-1ms", "'-1ms'"),
        ("cold=nanms", "'nanms'"),
        ("cold=0ms", "above 0"),
        ("cold=$3", "'$3'"),
        ("cold=3ms,cold=4ms", "twice"),
        ("cold@16 tokens=3ms", "not of one request"),
        ("p95@=3ms", "none is named"),
        ("zip=40Mb", "'Mb'"),
    ],
)
def test_the_offending_part_is_named(text: str, names: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_budget(text)
    assert names in str(refused.value)


def test_each_limit_is_compared_with_its_figure(made: Bench) -> None:
    text = "cold=15ms,p50=1.9ms,p99@128 tokens=9ms,zip=22MB,rss=29MB,throughput=500/s,cost=$0.25,function=0.1GB"
    kept = {one.what: one.ok for one in check_budget(read_budget(text), made)}
    assert kept == {
        "cold start, median": True,
        "warm p50, 16 tokens": False,
        "warm p99, 128 tokens": True,
        "function.zip": False,
        "peak memory": True,
        "throughput, 16 tokens": True,
        "a million usual requests": False,
        "function, unzipped": True,
    }


def test_the_usual_request_is_the_one_that_was_named(made: Bench) -> None:
    (kept,) = check_budget(read_budget("p95=5ms"), replace(made, usual="128 tokens"))
    assert (kept.what, kept.measured, kept.ok) == ("warm p95, 128 tokens", 9.0, False)


def test_figures_that_there_will_not_be(made: Bench) -> None:
    with pytest.raises(UsageError, match="no request '1 picture'"):
        check_requests(read_budget("p95@1 picture=5ms"), [*made.warm], has_zip=True)
    with pytest.raises(UsageError, match=r"no function\.zip"):
        check_requests(read_budget("zip=5MB"), [*made.warm], has_zip=False)
    check_requests(read_budget("zip=5MB,p95@128 tokens=1s"), [*made.warm], has_zip=True)
