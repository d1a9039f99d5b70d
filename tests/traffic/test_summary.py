"""Figures of a run, against the plainest way to compute them."""

import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldpress.errors import UsageError
from coldpress.traffic import Traffic
from coldpress.traffic.answer import Start, Told
from coldpress.traffic.chart import check_path, draw, write
from coldpress.traffic.rows import Kind, Rows
from coldpress.traffic.show import summary_table
from coldpress.traffic.summary import Summary, histogram, percentile, percentiles, summarize

VALUES = st.lists(st.floats(0, 1e6), min_size=1, max_size=200)


@settings(deadline=None)  # a busy machine is no fault
@given(VALUES, st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999]))
def test_percentiles(values: list[float], share: float) -> None:
    """The least value that at least this share of all do not exceed, found by trying."""
    plain = min(one for one in values if sum(other <= one for other in values) >= share * len(values) - 1e-9)
    assert percentile(sorted(values), share) == plain
    found = percentiles(values)
    assert found is not None
    assert found.max == max(values)
    assert found.count == len(values)


def test_of_nothing() -> None:
    assert percentile([], 0.5) is None
    assert percentiles([math.nan]) is None
    assert histogram([]) == []


@settings(deadline=None)
@given(VALUES)
def test_the_histogram_holds_all(values: list[float]) -> None:
    found = histogram(values)
    assert sum(count for _, count in found) == len(values)
    assert [bound for bound, _ in found] == sorted(bound for bound, _ in found)
    assert found[0][0] >= min(values) * 0.999


def of(rows: Rows) -> Summary:
    return summarize(
        rows, sent=len(rows), seconds=10.0, planned=8.0, interrupted=False, bytes_sent=1, bytes_received=2
    )


def some_rows() -> Rows:
    rows = Rows()
    warm, cold = Told(Start.WARM, math.nan, 1.0, 1.0), Told(Start.COLD, 20.0, 3.0, 4.0)
    for number in range(96):
        rows.add(number / 12, 0.5, 10.0 + number, Kind.GOOD, status=200, told=cold if number % 48 == 0 else warm)
    rows.add(8.0, 0.1, 1.0, Kind.STATUS, status=500)
    rows.add(8.0, 0.1, 0.5, Kind.THROTTLED, status=429)
    rows.add(8.0, 0.1, 5000.0, Kind.TIMEOUT)
    rows.add(8.0, 5000.0, 5000.0, Kind.UNSENT, waited=True)
    return rows


def test_a_run() -> None:
    found = of(some_rows())
    assert found.good == 96
    assert (found.offered_rate, found.achieved_rate) == (12.5, 9.6)
    some = {kind: count for kind, count in found.errors.items() if count}
    assert some == {"status": 1, "throttled": 1, "timeout": 1, "unsent": 1}
    assert found.statuses == {"200": 96, "429": 1, "500": 1}
    assert found.latency_ms is not None
    assert found.latency_ms.count == 98  # quick failures would flatter, what never came must not be left out
    assert (found.latency_ms.p50, found.latency_ms.max) == (58.0, 5000.0)
    assert found.service_ms is not None
    assert (found.service_ms.count, found.service_ms.p50) == (97, 57.5)
    assert found.cold is not None
    assert (found.cold.told, found.cold.count) == (96, 2)
    assert found.cold.share == pytest.approx(2 / 96)
    assert found.billed_ms == 94 + 8
    assert (found.sender.late, found.sender.waited, found.sender.on_time) == (0, 1, True)


def test_cold_starts_that_nobody_tells_of_are_not_none() -> None:
    rows = Rows()
    rows.add(0.0, 0.0, 1.0, Kind.GOOD, status=200)
    assert of(rows).cold is None
    assert of(rows).billed_ms is None


def test_a_late_sender_is_called_late() -> None:
    rows = Rows()
    for number in range(100):
        rows.add(number / 10, 50.0 if number < 2 else 0.1, 60.0, Kind.GOOD, status=200)
    found = of(rows)
    assert found.sender.late == 2
    assert not found.sender.on_time
    notes = [str(part) for part in summary_table(Traffic("http://x/", "", rows, found)).renderables]
    assert any("the sender was late: 2.0 % of requests left more than 5 ms" in note for note in notes)


def test_a_row_is_small() -> None:
    rows = some_rows()
    columns = [value for value in vars(rows).values() if hasattr(value, "itemsize")]
    assert sum(column.itemsize for column in columns) <= 50
    assert {len(column) for column in columns} == {len(rows)}


@pytest.mark.parametrize("suffix", [".svg", ".html"])
def test_the_chart(tmp_path: Path, suffix: str) -> None:
    rows = some_rows()
    traffic = Traffic("http://127.0.0.1:9000/<&>", "12 a second", rows, of(rows))
    write(traffic, tmp_path / f"out{suffix}")
    text = (tmp_path / f"out{suffix}").read_text()
    assert "prefers-color-scheme:dark" in text
    assert "<script" not in text
    assert text.count("http") == text.count("http://127.0.0.1:9000/") + 1  # and the namespace
    drawing = ElementTree.fromstring(text[text.index("<svg") : text.index("</svg>") + 6])
    paths = drawing.iter("{http://www.w3.org/2000/svg}path")
    marks = {path.get("class"): (path.get("d") or "").count("M") for path in paths if not path.get("transform")}
    assert marks.pop("error") == 3  # two of the four lie on one another
    assert marks == {"grid": 1, "dot": 94, "cold": 2, "p50": 1, "p99": 1}


def test_a_chart_of_a_million_stays_small() -> None:
    rows = Rows()
    for number in range(60_000):
        rows.add(number / 100, 0.1, 1.0 + number * 7919 % 100, Kind.GOOD, status=200)
    assert len(draw(Traffic("http://x/", "", rows, of(rows)))) < 1_000_000


def test_a_chart_of_nothing() -> None:
    rows = Rows()
    assert "</svg>" in draw(Traffic("http://x/", "", rows, replace(of(rows), cold=None)))
    with pytest.raises(UsageError, match=r"out\.png must end in \.svg or \.html"):
        check_path(Path("out.png"))
