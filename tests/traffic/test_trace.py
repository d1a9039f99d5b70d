"""Traces: every form that is read, every fault that is named, and never the whole file in memory."""

import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coldpress.errors import UsageError
from coldpress.traffic.trace import arrivals

ANY_FILE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80, deadline=None)


def times(path: Path, text: str | bytes, scatter: bool = False) -> list[float]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return [at for at, _ in arrivals(path, scatter=scatter, seed=1)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0\n0.5\n2\n", [0, 0.5, 2]),
        ("timestamp\n5\n5\n7.25", [0, 0, 2.25]),
        ("\ufeffTime\r\n\r\n1e3\r\n1001\r\n", [0, 1]),
        ('"1"\n"2.5"\n', [0, 1.5]),
        ("at\n2025-01-31T12:00:00Z\n2025-01-31T12:00:01.5Z\n2025-01-31T13:00:02+01:00\n", [0, 1.5, 2]),
        ("2025-01-31 12:00:00\n2025-01-31 12:01:00\n", [0, 60]),
        ("minute,count\n3,2\n4,0\n6,1\n", [0, 30, 180]),
        ('timestamp,count\n"1700000000","2"\n1700000060,3\n', [0, 30, 60, 80, 100]),
        ("time,count\n0,1\n59.9,1\n120.1,1\n", [0, 60, 120.1]),
        ("2025-01-31T12:00Z,1\n2025-01-31T12:02Z,2\n", [0, 120, 150]),
    ],
)
def test_times_and_counts(tmp_path: Path, text: str, found: list[float]) -> None:
    assert times(tmp_path / "trace.csv", text) == found


def test_counts_of_hours_are_not_taken_for_minutes(tmp_path: Path) -> None:
    text = "timestamp,count\n" + "\n".join(f"{hour * 3600},3600" for hour in range(5))
    with pytest.raises(UsageError, match="'3600 s' is the least between lines; a count is of one minute"):
        times(tmp_path / "trace.csv", text)


def test_counts_scatter_by_seed(tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    found = times(trace, "minute,count\n0,100\n1,50\n", scatter=True)
    assert len(found) == 150
    assert found == sorted(found)
    assert sum(at < 60 for at in found) == 100
    assert found == [at for at, _ in arrivals(trace, seed=1)]
    assert found != [at for at, _ in arrivals(trace, seed=2)]


def test_json_lines_with_bodies(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text('{"at": 2, "body": {"text": "ä"}}\n\n{"at": 2.5}\n{"body": [1], "at": 4}\n')
    first, second, third = arrivals(trace)
    assert (first[0], json.loads(first[1] or b"")) == (0.0, {"text": "ä"})
    assert second == (0.5, None)
    assert third == (2.0, b"[1]")


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("t.csv", b"", "holds no arrivals"),
        ("t.csv", b"timestamp\n\n", "holds no arrivals"),
        ("t.csv", b"minute,count\n0,0\n", "holds no arrivals"),
        ("t.csv", b"1\n3\n2\n", "line 3: '2' is before"),
        ("t.csv", b"1\n-3\n", "line 2: '-3' is not a possible time"),
        ("t.csv", b"nan\n", "line 1: 'nan' is not a possible time"),
        ("t.csv", b"0\ninf\n", "line 2: 'inf' is not a possible time"),
        ("t.csv", b"1\nsoon\n", "line 2: 'soon' is not a number"),
        ("t.csv", b"1\n1_0\n", "line 2: '1_0' is not a number"),
        ("t.csv", b"arrived\n1\n", "line 1: 'arrived' is not a time"),
        ("t.csv", b"1\n2025-01-31\n", "line 2: '2025-01-31' is not a number of seconds"),
        ("t.csv", b"2025-01-31\n1\n", "line 2: '1' is not a time of ISO 8601"),
        ("t.csv", b"2025-01-31\n2025-02-31\n", "line 2: '2025-02-31' is not a time"),
        ("t.csv", b"2025-01-31\n2025-02-01,4\n", "line 2: .* more than one column"),
        ("t.csv", b"0,3\n", "line 1: '0,3' may be minutes or seconds"),
        ("t.csv", b"1,2,3\n", "line 1: '1,2,3' is not what a trace has"),
        ("t.csv", b"minute,size\n1,2\n", "line 1: 'minute,size' is not what a trace has"),
        ("t.csv", b"minute,count\n1\n", "line 2: '1' has 1 columns"),
        ("t.csv", b"minute,count\n1,2.5\n", "line 2: '2.5' is not a count"),
        ("t.csv", b"minute,count\n1,-2\n", "line 2: '-2' is not a count"),
        ("t.csv", b"minute,count\n1,9999999\n", "line 2: '9999999' in a minute is more than 6,000,000"),
        ("t.csv", b"minute,count\n1,2\n1.5,2\n", "line 3: '30 s' after the line before"),
        ("t.csv", b"\xff\xfe1\n", r"line 1: '\\\\xff\\\\xfe1' is not UTF-8"),
        ("t.jsonl", b'{"at": 1}\n{"at": 0}\n', "line 2: '0.?0?' is before"),
        ("t.jsonl", b'{"at": -1}\n', "line 1: '-1' is not a possible time"),
        ("t.jsonl", b'{"at": NaN}\n', "line 1: 'nan' is not a possible time"),
        ("t.jsonl", b'{"at": "1"}\n', 'line 1: .* has no "at"'),
        ("t.jsonl", b'{"at": true}\n', 'line 1: .* has no "at"'),
        ("t.jsonl", b'{"at": 1, "bodies": 2}\n', "line 1: .* is not of the form"),
        ("t.jsonl", b"[1]\n", "line 1: .* is not of the form"),
        ("t.jsonl", b"{\n", "line 1: '{' is not JSON"),
        ("t.jsonl", b"\xff\n", "line 1: .* is not UTF-8"),
        ("t.jsonl", b"[" * 100_000, "line 1: .* is not JSON"),
        ("t.csv", b"1" * (9 << 20), "line 1: .* is longer than a line may be"),
        ("t.xlsx", b"1\n", r"must end in .csv, .txt, .jsonl, .ndjson"),
    ],
)
def test_faults_are_named(tmp_path: Path, name: str, text: bytes, named: str) -> None:
    with pytest.raises(UsageError, match=named) as error:
        times(tmp_path / name, text)
    assert str(tmp_path / name) in str(error.value)
    assert len(str(error.value)) < 400


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        list(arrivals(tmp_path / "none.csv"))
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        list(arrivals(tmp_path / "folder.csv"))


@ANY_FILE
@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=50), st.booleans())
def test_sorted_times_come_back(tmp_path: Path, numbers: list[float], headed: bool) -> None:
    numbers.sort()
    text = ("timestamp\n" if headed else "") + "".join(f"{number!r}\n" for number in numbers)
    assert times(tmp_path / "trace.csv", text) == [number - numbers[0] for number in numbers]


@ANY_FILE
@given(st.binary(max_size=60) | st.text('0123456789.,-:TZeE \n"minutecou_', max_size=60), st.booleans())
def test_any_bytes_are_a_trace_or_an_error(tmp_path: Path, text: bytes | str, lines_of_json: bool) -> None:
    trace = tmp_path / ("trace.jsonl" if lines_of_json else "trace.csv")
    try:
        found = times(trace, text)
    except UsageError as error:
        assert str(trace) in str(error)
    else:
        assert found == sorted(found)
        assert found[0] >= 0


@ANY_FILE
@given(st.lists(st.tuples(st.floats(0, 1e6), st.none() | st.dictionaries(st.text(), st.integers())), min_size=1))
def test_json_lines_come_back(tmp_path: Path, rows: list[tuple[float, dict[str, int] | None]]) -> None:
    rows.sort(key=lambda row: row[0])
    trace = tmp_path / "trace.ndjson"
    said = [{"at": at} if body is None else {"at": at, "body": body} for at, body in rows]
    trace.write_text("".join(json.dumps(one) + "\n" for one in said))
    found = [(at, None if body is None else json.loads(body)) for at, body in arrivals(trace)]
    assert found == [(at - rows[0][0], body) for at, body in rows]


def test_a_large_file_is_never_held(tmp_path: Path) -> None:
    trace = tmp_path / "large.csv"
    with trace.open("w") as file:
        file.writelines(f"{number / 10}\n" for number in range(100_000))
    tracemalloc.start()
    try:
        count = sum(1 for _ in arrivals(trace))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 100_000
    assert peak < 300_000
