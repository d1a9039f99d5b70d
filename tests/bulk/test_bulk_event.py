"""A stretch of a file in a bucket: every line is answered once, in its place, however the file is cut."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_aws_calls import aws as aws
from test_aws_calls import variables as variables
from test_batches import Upper

from coldpress_runtime.aws.client import AwsError
from coldpress_runtime.events import batch_source, bulk
from coldpress_runtime.faults import BadRequest


@pytest.fixture(autouse=True)
def nothing_open() -> Any:
    yield
    bulk._idle.clear()


def as_lines(data: bytes) -> list[bytes]:
    """What a person calls the lines of a file: a last newline begins none."""
    found = data.split(b"\n")
    return found[:-1] if found[-1] == b"" else found


@given(
    st.lists(st.binary(max_size=30).map(lambda one: one.replace(b"\n", b"")), max_size=30),
    st.booleans(),
    st.integers(1, 60),
    st.integers(1, 20),
)
def test_lines_however_they_are_cut(many: list[bytes], ends: bool, each: int, beyond: int) -> None:
    data = b"\n".join(many) + (b"\n" if ends else b"")
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "_BEYOND", beyond)
        for start in range(0, max(len(data), 1), each):
            stop = min(start + each, len(data))
            found += bulk._lines(lambda first, end: data[first:end], start, stop, len(data))
    assert found == as_lines(data)


def test_a_line_that_is_far_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "_MOST", 100_000)
    data = b"x" * 200_000
    with pytest.raises(BadRequest, match="more than 100000 bytes"):
        bulk._lines(lambda first, end: data[first:end], 0, 10, len(data))


def put(aws: Any, body: bytes) -> dict[str, Any]:
    s3 = aws("s3")
    for bucket in ("in-place", "out-place"):
        s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    tag = s3.put_object(Bucket="in-place", Key="a/ü b.jsonl", Body=body)["ETag"]
    place = {
        "bucket": "in-place",
        "key": "a/ü b.jsonl",
        "start": 0,
        "stop": len(body),
        "size": len(body),
        "tag": tag,
    }
    return {"coldpress": "map", "from": place, "to": {"bucket": "out-place", "key": "x/part-00000.jsonl"}}


def test_a_line_each(aws: Any) -> None:
    event = put(aws, b'{"text": "a"}\n{broken\n\n{"text": 5}\n{"text": "crash"}\n{"text": "\xc3\xbc"}')
    assert getattr(batch_source(event), "answer", None) is bulk.answer
    told = json.loads(bulk.answer(Upper(), event))
    assert (told["lines"], told["failed"]) == (6, 4) and told["ms"] >= 1
    body = aws("s3").get_object(Bucket="out-place", Key="x/part-00000.jsonl")["Body"].read().decode()
    answers = [json.loads(line) for line in body.splitlines()]
    assert body.endswith("\n") and (answers[0], answers[5]) == ("A", "Ü")
    codes = [one["error"]["code"] for one in answers[1:5]]
    assert codes == ["invalid_json", "invalid_json", "wrong_type", "RuntimeError"]


def test_many_are_asked_at_once(aws: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "_LINES", 6)
    task = Upper()
    event = put(aws, b'{"text": "a"}\n' * 10)
    assert json.loads(bulk.answer(task, event))["lines"] == 10
    assert task.asked == [4, 2, 4]


def test_another_object_than_the_job_began_with(aws: Any) -> None:
    event = put(aws, b'{"text": "a"}\n')
    aws("s3").put_object(Bucket="in-place", Key="a/ü b.jsonl", Body=b'{"text": "b"}\n')
    with pytest.raises(AwsError, match="412"):
        bulk.answer(Upper(), event)
    assert "Contents" not in aws("s3").list_objects_v2(Bucket="out-place")


@pytest.mark.parametrize(
    "change",
    [
        {"start": 5, "stop": 4},
        {"stop": 99},
        {"start": -1},
        {"start": True},
        {"size": "1"},
        {"key": 7},
        {"tag": None},
    ],
)
def test_events_that_are_no_stretch(aws: Any, change: dict[str, Any]) -> None:
    event = put(aws, b'{"text": "a"}\n')
    event["from"] |= change
    with pytest.raises(BadRequest, match="the event's from"):
        bulk.answer(Upper(), event)


@pytest.mark.parametrize("event", [{"coldpress": "map"}, {"coldpress": ["map"], "from": 1, "to": 2}, {"from": 1}])
def test_others_are_left_to_the_task(event: dict[str, object]) -> None:
    assert batch_source(event) is None
