"""What answers tell: our headers, the log's tail of the Invoke API, and what is not told."""

import math
from base64 import b64encode

import pytest

from coldpress.traffic.answer import NOTHING, Start, told

ID = b"RequestId: 4f2c"
WARM = (
    b"REPORT " + ID + b"\tDuration: 3.45 ms\tBilled Duration: 4 ms\tMemory Size: 128 MB\tMax Memory Used: 22 MB\t"
)
COLD = WARM + b"Init Duration: 12.34 ms\t\n"
SNAPSHOT = WARM + b"Restore Duration: 274.16 ms\tBilled Restore Duration: 75 ms\t\n"
JSON = (
    b'{"type":"platform.start"}\n{"time":"x","type":"platform.report","record":{"metrics":'
    b'{"durationMs":3.45,"billedDurationMs":4,"initDurationMs":12.34}}}\n'
)


def log(text: bytes) -> dict[bytes, bytes]:
    return {b"x-amz-log-result": b64encode(text)}


@pytest.mark.parametrize("text", [b"START " + ID + b"\nhello\nEND " + ID + b"\n" + COLD, JSON])
def test_a_cold_start_in_the_log(text: bytes) -> None:
    assert told(log(text)) == (Start.COLD, 12.34, 3.45, 4.0)


def test_a_warm_one() -> None:
    found = told(log(WARM + b"\n"))
    assert found.start is Start.WARM
    assert math.isnan(found.init_ms)
    assert (found.duration_ms, found.billed_ms) == (3.45, 4.0)


def test_a_restored_snapshot_is_a_cold_start() -> None:
    assert told(log(SNAPSHOT))[:3] == (Start.COLD, 274.16, 3.45)


def test_what_the_function_logs_itself_does_not_count() -> None:
    assert told(log(b"Init Duration: 99 ms\n" + COLD.strip() + b"\n" + WARM)).start is Start.WARM


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {b"x-amz-log-result": b"?!"},
        log(b"START\nEND\n"),
        log(b"Duration: 3 ms"),
        {b"x-coldpress-init-ms": b"x"},
    ],
)
def test_not_told_is_not_warm(headers: dict[bytes, bytes]) -> None:
    assert told(headers) is NOTHING
    assert told(headers).start is Start.NOT_TOLD


def test_our_own_headers() -> None:
    usual = {b"x-coldpress-duration-ms": b"1.5", b"x-coldpress-billed-ms": b"2"}
    assert told(usual).start is Start.WARM
    assert told({**usual, b"x-coldpress-init-ms": b"15.9"}) == (Start.COLD, 15.9, 1.5, 2.0)
