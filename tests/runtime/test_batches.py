"""Work from queues, topics, streams and buckets: what is good is stored once, what is not comes back."""

import base64
import json
from typing import Any

import pytest
from test_aws_calls import aws as aws
from test_aws_calls import variables as variables

from coldpress_runtime import batch
from coldpress_runtime.events import batch_source, dynamodb
from coldpress_runtime.faults import BadRequest, LoadError
from coldpress_runtime.function import Function
from coldpress_runtime.sink import open_sink


class Upper:
    """A task that shouts; how many it was asked at once is noted."""

    batch_limit = 4

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.routes = {"/": self.plain}

    def plain(self, request: Any, room: int) -> str:
        self.asked.append(1)
        return json.dumps(self._said(request))

    def batch_key(self, body: Any) -> str | None:
        return "" if isinstance(body.get("text"), str) else None

    def many(self, bodies: Any, room: int) -> list[str]:
        self.asked.append(len(bodies))
        return [json.dumps(self._said(body)) for body in bodies]

    def _said(self, body: Any) -> str:
        if not isinstance(body, dict) or not isinstance(body.get("text"), str):
            raise BadRequest(400, "wrong_type", "no text")
        if body["text"] == "crash":
            raise RuntimeError("planned")
        return str(body["text"]).upper()


class Kept:
    """A sink that keeps, and may refuse some."""

    def __init__(self, refuses: tuple[str, ...] = ()) -> None:
        self.refuses = refuses
        self.answers: dict[str, str] = {}

    def write(self, answers: Any) -> list[Exception | None]:
        made: list[Exception | None] = []
        for key, text, _ in answers:
            if key in self.refuses:
                made.append(OSError("full"))
                continue
            self.answers[key] = text
            made.append(None)
        return made


def sqs(*bodies: str, group: str = "") -> dict[str, Any]:
    attributes = {"MessageGroupId": group} if group else {}
    return {
        "Records": [
            {"messageId": f"m{at}", "body": body, "eventSource": "aws:sqs", "attributes": attributes}
            for at, body in enumerate(bodies)
        ]
    }


def kinesis(*bodies: bytes) -> dict[str, Any]:
    return {
        "Records": [
            {
                "eventSource": "aws:kinesis",
                "eventID": f"shardId-0:{at}",
                "kinesis": {"sequenceNumber": str(at), "data": base64.b64encode(body).decode()},
            }
            for at, body in enumerate(bodies)
        ]
    }


def answered(event: dict[str, Any], sink: Kept, task: Upper | None = None) -> Any:
    source = batch_source(event)
    assert source is not None
    return json.loads(batch.answer(task or Upper(), sink, source, event))


def failed(answer: Any) -> list[str]:
    return [one["itemIdentifier"] for one in answer["batchItemFailures"]]


def test_a_batch_is_one_pass() -> None:
    sink, task = Kept(), Upper()
    answer = answered(sqs('{"text": "a"}', "plain words", '{"text": "b"}'), sink, task)
    assert failed(answer) == [] and task.asked == [3]
    assert sink.answers == {"m0": '"A"', "m1": '"PLAIN WORDS"', "m2": '"B"'}


def test_only_what_fails_comes_back() -> None:
    sink = Kept(refuses=("m4",))
    answer = answered(sqs('{"text": "a"}', "{broken", '{"text": 5}', '{"text": "crash"}', '{"text": "e"}'), sink)
    assert failed(answer) == ["m1", "m2", "m3", "m4"]
    assert sink.answers == {"m0": '"A"'}


def test_large_batches_are_cut() -> None:
    task = Upper()
    answered(sqs(*['{"text": "a"}'] * 10), Kept(), task)
    assert task.asked == [4, 4, 2]


def test_a_fifo_queue_keeps_its_order() -> None:
    sink = Kept()
    assert failed(answered(sqs('{"text": "a"}', "{broken", '{"text": "c"}', group="g"), sink)) == ["m1", "m2"]
    assert sink.answers == {"m0": '"A"'}


def test_a_stream_stops_at_the_first_failure() -> None:
    sink = Kept()
    answer = answered(kinesis(b'{"text": "a"}', b"\xff", b'{"text": "c"}'), sink)
    assert failed(answer)[0] == "1", "Lambda begins again there"
    assert sink.answers == {"shardId-0-0": '"A"'}
    assert failed(answered(kinesis(b'{"text": "a"}'), sink)) == []


def test_rows_of_a_table() -> None:
    def record(name: str, at: int, image: Any) -> dict[str, Any]:
        return {
            "eventSource": "aws:dynamodb",
            "eventID": f"e{at}",
            "eventName": name,
            "dynamodb": {"SequenceNumber": str(at), "NewImage": image} if image else {"SequenceNumber": str(at)},
        }

    sink = Kept()
    event = {"Records": [record("INSERT", 0, {"text": {"S": "a"}}), record("REMOVE", 1, None)]}
    assert failed(answered(event, sink)) == [] and sink.answers == {"e0": '"A"'}
    event = {"Records": [record("MODIFY", 0, None), record("INSERT", 1, {"text": {"S": "b"}})]}
    assert failed(answered(event, sink)) == ["0", "1"]


def test_values_of_a_table_are_plain() -> None:
    whole = {
        "M": {
            "n": {"N": "3"},
            "f": {"N": "1.5"},
            "l": {"L": [{"S": "x"}, {"NULL": True}, {"BOOL": False}]},
            "s": {"NS": ["1", "2"]},
        }
    }
    assert dynamodb.plain(whole) == {"n": 3, "f": 1.5, "l": ["x", None, False], "s": [1, 2]}
    for wrong in ({"X": 1}, {}, 5, {"N": "many"}, {"S": "a", "N": "1"}):
        with pytest.raises(BadRequest):
            dynamodb.plain(wrong)


def test_what_comes_whole_fails_whole() -> None:
    """A topic or a bus gives an event again as it was: it has to hear of a failure as such."""
    sink = Kept()
    topic = {"Records": [{"EventSource": "aws:sns", "Sns": {"MessageId": "i", "Message": '{"text": "a"}'}}]}
    bus = {"id": "j", "detail-type": "t", "source": "s", "detail": {"text": "b"}}
    assert answered(topic, sink) == answered(bus, sink) == {"stored": 1}
    assert sink.answers == {"i": '"A"', "j": '"B"'}
    bus["detail"] = {"text": 5}
    with pytest.raises(batch.Undone, match="1 of 1 failed, the first one: j: no text"):
        answered(bus, sink)


def objects(*keys: str) -> dict[str, Any]:
    return {
        "Records": [
            {"eventSource": "aws:s3", "s3": {"bucket": {"name": "input"}, "object": {"key": key}}} for key in keys
        ]
    }


def test_objects_are_asked_and_answers_are_objects(aws: Any) -> None:
    s3 = aws("s3")
    where = {"CreateBucketConfiguration": {"LocationConstraint": "eu-west-1"}}
    for name in ("input", "output"):
        s3.create_bucket(Bucket=name, **where)
    lines = b'{"text": "one"}\n\n{broken\n{"text": 5}\n{"text": "two"}\n'
    for key, body in (("a b/ü.txt", b"words"), ("q.json", b'{"text": "json"}'), ("many.jsonl", lines)):
        s3.put_object(Bucket="input", Key=key, Body=body)
    sink = open_sink("s3://output/some/prefix")
    event = objects("a+b/%C3%BC.txt", "q.json", "many.jsonl")
    source = batch_source(event)
    assert source is not None
    for _ in range(2):  # given again it overwrites, and does not double
        assert json.loads(batch.answer(Upper(), sink, source, event)) == {"stored": 3}
    sink.close()  # type: ignore[attr-defined]
    stored = {
        one["Key"]: s3.get_object(Bucket="output", Key=one["Key"])["Body"].read().decode()
        for one in s3.list_objects_v2(Bucket="output")["Contents"]
    }
    answers = stored.pop("some/prefix/input/many.jsonl").splitlines()
    assert stored == {"some/prefix/input/a b/ü.txt.json": '"WORDS"', "some/prefix/input/q.json.json": '"JSON"'}
    assert (answers[0], answers[3]) == ('"ONE"', '"TWO"') and len(answers) == 4
    assert [json.loads(line)["error"]["code"] for line in answers[1:3]] == ["invalid_json", "wrong_type"]
    with pytest.raises(batch.Undone, match="is not there any more"):
        batch.answer(Upper(), sink, source, objects("gone.txt"))


def test_a_queue_takes_the_answers(aws: Any) -> None:
    queue = aws("sqs").create_queue(QueueName="answers")["QueueUrl"]
    sink = open_sink(queue)
    assert failed(answered(sqs('{"text": "a"}', '{"text": "b"}'), sink)) == []  # type: ignore[arg-type]
    sink.close()  # type: ignore[attr-defined]
    found = aws("sqs").receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]
    told = {json.loads(one["Body"])["id"]: json.loads(one["Body"])["answer"] for one in found}
    assert told == {"m0": "A", "m1": "B"}


def test_a_sink_that_fails_loses_nothing(aws: Any) -> None:
    sink = open_sink("s3://nowhere/x")
    answer = answered(sqs('{"text": "a"}', '{"text": "b"}'), sink)  # type: ignore[arg-type]
    assert failed(answer) == ["m0", "m1"]
    sink.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("said", ["s3://", "ftp://x/y", "queue", "https://sqs"])
def test_no_sink(said: str) -> None:
    with pytest.raises(LoadError, match="COLDPRESS_SINK is"):
        open_sink(said)


@pytest.mark.parametrize(
    "event", [{}, {"Records": []}, {"Records": "x"}, {"Records": [5]}, {"Records": [{"eventSource": "aws:new"}]}]
)
def test_other_events_are_nobodys(event: dict[str, Any]) -> None:
    assert batch_source(event) is None


def test_the_real_function(function: Function, capsys: pytest.CaptureFixture[str]) -> None:
    """Together they answer what each answers alone."""
    texts = ["a cat", "the sea at night", "x" * 300]
    answer = json.loads(function.handle(sqs(*(json.dumps({"text": text}) for text in texts), "{broken")))
    assert failed(answer) == ["m3"]
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for one, text in zip(told, texts, strict=True):
        alone = json.loads(function.handle({"text": text}))["embeddings"][0]
        assert one["answer"]["embeddings"][0] == pytest.approx(alone, abs=0.02)
