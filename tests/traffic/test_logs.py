"""What others have recorded: CloudWatch's metrics and access logs."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coldpress.errors import UsageError
from coldpress.traffic.lines import Span
from coldpress.traffic.trace import arrivals, pieces

ANY_FILE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80, deadline=None)
NGINX = '10.0.0.{n} - - [31/Jan/2025:12:00:{s:02d} +0000] "POST /embed HTTP/1.1" 200 812 "-" "curl/8"'
BALANCER = (
    "https 2025-01-31T12:00:{s:02d}.5{n}0000Z app/my-lb/50dc6c495c0c9188 192.168.1.1:2817 10.0.0.1:80 0.1 200"
)
CLOUDFRONT = (
    "2025-01-31\t12:00:{s:02d}\tFRA2-C1\t2390282\t192.0.2.100\tGET\td111111abcdef8.cloudfront.net\t/{n}\t200"
)


def spans(path: Path, text: str) -> list[Span]:
    path.write_text(text)
    found = list(pieces(path))
    assert all(isinstance(piece, Span) for piece in found)
    return [piece for piece in found if isinstance(piece, Span)]


@pytest.mark.parametrize("kind", [NGINX, BALANCER, CLOUDFRONT])
def test_access_logs(tmp_path: Path, kind: str) -> None:
    lines = [kind.format(s=s, n=n) for n, s in enumerate([1, 1, 1, 2, 5])]
    heading = "#Version: 1.0\n" if kind is CLOUDFRONT else ""
    assert spans(tmp_path / "access.log", heading + "\n".join(lines)) == [(0, 1, 3), (1, 1, 1), (4, 1, 1)]


def test_a_packed_log(tmp_path: Path) -> None:
    path = tmp_path / "access.log.gz"
    path.write_bytes(gzip.compress((NGINX.format(s=1, n=1) + "\n" + NGINX.format(s=9, n=1)).encode()))
    first, second = [at for at, _ in arrivals(path)]
    assert 0 <= first <= 1 and 8 <= second <= 9
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UsageError, match=r"access.log.gz cannot be read"):
        list(pieces(path))


def test_a_log_may_be_a_little_out_of_order(tmp_path: Path) -> None:
    """Lines are written when requests end."""
    lines = [NGINX.format(s=s, n=1) for s in (30, 50, 31)]
    assert sum(span.requests for span in spans(tmp_path / "access.log", "\n".join(lines))) == 3
    hour = NGINX.format(s=1, n=1).replace("12:00", "10:00")
    with pytest.raises(UsageError, match=r"line 4: .* s before a line above it: sort the log"):
        spans(tmp_path / "access.log", "\n".join([*lines, hour]))


STATISTICS = {
    "Label": "Invocations",
    "Datapoints": [
        {"Timestamp": "2025-01-31T12:02:00+00:00", "Sum": 7.0, "Unit": "Count"},
        {"Timestamp": "2025-01-31T12:00:00Z", "Sum": 3.0, "Unit": "Count"},
        {"Timestamp": "2025-01-31T12:01:00+00:00", "Sum": 0.0, "Unit": "Count"},
    ],
}
DATA = {
    "MetricDataResults": [
        {
            "Id": "m1",
            "Label": "Invocations",
            "Timestamps": ["2025-01-31T12:10:00Z", "2025-01-31T12:05:00Z"],
            "Values": [5, 2],
        }
    ]
}


def test_cloudwatch(tmp_path: Path) -> None:
    """Its points come in no order; their distance is the period."""
    path = tmp_path / "metric.json"
    assert spans(path, json.dumps(STATISTICS, indent=1)) == [(0, 60, 3), (60, 60, 0), (120, 60, 7)]
    assert spans(path, json.dumps(DATA)) == [(0, 300, 2), (300, 300, 5)]


def test_a_damaged_gz(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv.gz"
    whole = bytearray(gzip.compress("\n".join(str(number) for number in range(9999)).encode()))
    for at in range(20, len(whole) - 10, 97):
        damaged = bytearray(whole)
        damaged[at] ^= 0xFF
        path.write_bytes(bytes(damaged))
        with pytest.raises(UsageError, match=r"trace.csv.gz"):
            list(pieces(path))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "is not JSON"),
        ("[]", "is not what CloudWatch writes"),
        ('{"Metrics": []}', "'Metrics' is not what CloudWatch writes"),
        ('{"Datapoints": []}', "holds no arrivals"),
        ("", "holds no arrivals"),
        (
            '{"Datapoints": [{"Timestamp": "2025-01-31T12:00:00Z", "Average": 3}]}',
            "ask CloudWatch with --statistics",
        ),
        (
            '{"Datapoints": [{"Timestamp": "2025-01-31T12:00:00Z", "Sum": 3.5}]}',
            r"3.5.*data point 1.* whole number",
        ),
        (
            '{"Datapoints": [{"Timestamp": "2025-01-31T12:00:00Z", "Sum": -1}]}',
            r"-1.*data point 1.*is not a count",
        ),
        (
            '{"Datapoints": [{"Timestamp": "2025-01-31T12:00:00Z", "Sum": NaN}]}',
            r"nan.*data point 1.*is not a count",
        ),
        ('{"Datapoints": [{"Timestamp": "soon", "Sum": 3}]}', "'soon' is not a time"),
        ('{"Datapoints": [{"Timestamp": 17, "Sum": 3}]}', "data point 1.*no timestamp"),
        (
            '{"Datapoints": [{"Timestamp": "2025-01-31T12:00:00Z", "Sum": 1e11}, '
            '{"Timestamp": "2025-01-31T12:01:00Z", "Sum": 1}]}',
            "more than 100,000 a second",
        ),
        (
            '{"Datapoints": [{"Timestamp": "2025-01-31T12:00:00Z", "Sum": 3600}]}',
            "one data point, which does not tell",
        ),
        (
            '{"MetricDataResults": [{"Values": [1, 1, 1], "Timestamps": ["2025-01-31T12:00:00Z", '
            '"2025-01-31T12:01:00Z", "2025-01-31T12:02:30Z"]}]}',
            "90 s' between data points are not whole periods of 60 s",
        ),
        ('{"MetricDataResults": [{"Timestamps": ["x"], "Values": []}]}', "1 Timestamps.*0 Values"),
        ('{"MetricDataResults": [{}, {}]}', "2 MetricDataResults.*Invocations alone"),
    ],
)
def test_what_is_wrong_with_a_metric(tmp_path: Path, content: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        spans(tmp_path / "metric.json", content)


@ANY_FILE
@given(content=st.binary(max_size=300), ending=st.sampled_from([".json", ".log", ".log.gz"]))
def test_any_bytes_are_read_or_refused(tmp_path: Path, content: bytes, ending: str) -> None:
    path = tmp_path / f"trace{ending}"
    path.write_bytes(content)
    try:
        for piece in pieces(path):
            assert piece[0] >= 0
    except UsageError:
        pass


_point = st.fixed_dictionaries({"Timestamp": st.text(max_size=20) | st.integers(), "Sum": st.floats() | st.text()})


@ANY_FILE
@given(content=st.fixed_dictionaries({"Datapoints": st.lists(_point | st.integers(), max_size=4)}))
def test_any_metric_is_read_or_refused(tmp_path: Path, content: dict[str, object]) -> None:
    try:
        spans(tmp_path / "metric.json", json.dumps(content))
    except UsageError as error:
        assert "metric.json" in str(error)
