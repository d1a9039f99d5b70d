"""A queue before the local Lambda, by Lambda's rules. SQS is moto's, over sockets; the functions that misbehave
are stand-ins in this process. Real sandboxes are in test_queue_served.py and test_queue_ten_thousand.py."""

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import boto3
import pytest
from hypothesis import given
from hypothesis import strategies as some
from queue_account import orderly

from coldpress.emulate.queues.batching import Batching, trouble_with
from coldpress.emulate.queues.event import cut, event_of, record, recorded
from coldpress.emulate.queues.poller import Poller
from coldpress.emulate.queues.queue import find_queue, parse_arn
from coldpress.emulate.queues.verdict import judge
from coldpress.emulate.sandboxes.fleet import Throttled
from coldpress.emulate.sandboxes.invocation import Answered, Outcome, Report
from coldpress.errors import ColdpressError, UsageError

ARN = "arn:aws:sqs:eu-west-1:123456789012:work"
Handler = Callable[[list[Any]], Any]


@pytest.fixture
def sqs(account: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    orderly(monkeypatch.setattr)
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", account)
    monkeypatch.setattr("coldpress.emulate.queues.gather.LONG_POLL", 1)  # who stops waits for no longer than that
    client = boto3.client("sqs")
    yield client
    client.close()


def make(sqs: Any, name: str = "work", visibility: int = 1, **attributes: str) -> str:
    said = {"VisibilityTimeout": str(visibility), **attributes}
    url: str = sqs.create_queue(QueueName=name, Attributes=said)["QueueUrl"]
    return url


def send(sqs: Any, url: str, *bodies: str, **more: Any) -> None:
    for body in bodies:
        sqs.send_message(QueueUrl=url, MessageBody=body, **more)


def left(sqs: Any, url: str) -> int:
    """What is in a queue, hidden or not."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    return sum(int(n) for n in sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"].values())


class StandIn:
    """A function that answers what `handler` makes of the bodies: a value, text as it is, or an exception."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.batches: list[list[str]] = []
        self.events: list[Any] = []
        self.at: list[float] = []
        self.there = True
        self.most = self.now = 0

    def is_there(self) -> bool:
        return self.there

    async def invoke(self, event: bytes) -> Answered | Throttled:
        self.at.append(time.monotonic())
        self.events.append(json.loads(event))
        records = self.events[-1]["Records"]
        self.batches.append([one["body"] for one in records])
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            made = self.handler(records)
            said = await made if isinstance(made, Coroutine) else made
        except Throttled as throttled:
            return throttled
        except Exception as error:  # noqa: BLE001 - the function's own
            return _answered(False, str(error).encode())
        finally:
            self.now -= 1
        return _answered(True, said if isinstance(said, bytes) else json.dumps(said).encode())


def _answered(ok: bool, body: bytes) -> Answered:
    return Answered(Outcome(ok, body, 0.0, 0.0, error_type="" if ok else "Planned"), Report("id", 0.0, 0, 128))


def poll(
    url: str, function: StandIn, until: Callable[[], bool], batching: Batching | None = None, seconds: float = 15
) -> tuple[Poller, list[str]]:
    """Poll until something holds, then stop as the emulator does."""
    told: list[str] = []

    async def run() -> Poller:
        poller = Poller(await asyncio.to_thread(find_queue, url), batching or Batching(), function, told.append)
        poller.start()
        end = time.monotonic() + seconds
        while not await asyncio.to_thread(until):
            assert time.monotonic() < end, (function.batches, told)
            await asyncio.sleep(0.02)
        poller.stop()
        await asyncio.wait_for(poller.ended(), 10)
        return poller

    return asyncio.run(run()), told


# what Lambda makes of an answer

IDS = ("a", "b", "c")


@pytest.mark.parametrize(
    "answer",
    ["", "null", "{}", '{"batchItemFailures": []}', '{"batchItemFailures": null}', '{"statusCode": 200}'],
)
def test_all_is_well(answer: str) -> None:
    assert judge(answer.encode(), IDS).failed == frozenset()


def item(*names: Any) -> bytes:
    return json.dumps({"batchItemFailures": [{"itemIdentifier": name} for name in names]}).encode()


def test_some_failed() -> None:
    assert judge(item("b"), IDS).failed == {"b"}
    assert judge(item("c", "a", "c"), IDS).failed == {"a", "c"}


@pytest.mark.parametrize(
    "answer",
    [
        b"not JSON",
        b"\xff\xfe",
        b"[" * 100_000,
        b'"done"',
        b"[]",
        b"5",
        b'{"batchItemFailures": "a"}',
        b'{"batchItemFailures": {"itemIdentifier": "a"}}',
        b'{"batchItemFailures": ["a"]}',
        b'{"batchItemFailures": [{"id": "a"}]}',
        item(None),
        item(""),
        item(5),
        item("a", "unknown"),
    ],
)
def test_what_is_not_understood_failed_whole(answer: bytes) -> None:
    verdict = judge(answer, IDS)
    assert verdict.failed == set(IDS) and verdict.wrong


@given(
    some.recursive(
        some.none() | some.booleans() | some.text(), lambda x: some.lists(x) | some.dictionaries(some.text(), x)
    )
)
def test_any_answer_is_judged(answer: Any) -> None:
    for said in (answer, {"batchItemFailures": answer}, {"batchItemFailures": [{"itemIdentifier": answer}]}):
        verdict = judge(json.dumps(said).encode(), IDS)
        assert verdict.failed <= set(IDS) and (not verdict.wrong or verdict.failed == set(IDS))


@given(some.binary())
def test_any_bytes_are_judged(answer: bytes) -> None:
    assert judge(answer, IDS).failed <= set(IDS)


# what Lambda makes of messages


@given(some.lists(some.text(), min_size=1, max_size=12), some.integers(200, 1200))
def test_events_are_cut_in_order(bodies: list[str], largest: int) -> None:
    messages = [{"MessageId": str(at), "ReceiptHandle": "r", "Body": body} for at, body in enumerate(bodies)]
    batches = [*cut(recorded(messages, ARN), largest)]
    assert [one["MessageId"] for batch in batches for one, _ in batch] == [one["MessageId"] for one in messages]
    for batch in batches:
        event = json.loads(event_of(batch))
        assert len(event["Records"]) == len(batch)
        assert len(event_of(batch)) <= largest or len(batch) == 1


def test_attributes() -> None:
    said = {"t": {"StringValue": "x", "DataType": "String"}, "b": {"BinaryValue": b"\0\xff", "DataType": "Binary"}}
    made = record({"MessageId": "m", "ReceiptHandle": "r", "MessageAttributes": said}, ARN)["messageAttributes"]
    lists: dict[str, list[str]] = {"stringListValues": [], "binaryListValues": []}
    assert made["t"] == {**lists, "stringValue": "x", "dataType": "String"}
    assert made["b"] == {**lists, "binaryValue": "AP8=", "dataType": "Binary"}


@pytest.mark.parametrize(
    ("batching", "fifo", "visibility", "timeout", "named"),
    [
        (Batching(0), False, 30, 3, "from 1 to 10000"),
        (Batching(10_001, 1), False, 30, 3, "from 1 to 10000"),
        (Batching(11), False, 30, 3, "need a window of at least 1 s"),
        (Batching(10, 301), False, 30, 3, "from 0 to 300"),
        (Batching(10, 1), True, 30, 3, "a FIFO queue has none"),
        (Batching(11, 0), True, 30, 3, "at most 10"),
        (Batching(), False, 30, 31, "Queue visibility timeout: 30 seconds is less than Function timeout: 31"),
    ],
)
def test_what_lambda_refuses(batching: Batching, fifo: bool, visibility: int, timeout: float, named: str) -> None:
    assert named in trouble_with(batching, fifo=fifo, visibility=visibility, timeout=timeout)


def test_what_lambda_takes() -> None:
    for batching, fifo in ((Batching(), True), (Batching(10_000, 300), False), (Batching(1), False)):
        assert trouble_with(batching, fifo=fifo, visibility=30, timeout=30) == ""


# at work


def test_an_event_has_all_that_lambda_tells(sqs: Any) -> None:
    url = make(sqs)
    attributes = {"colour": {"StringValue": "blue", "DataType": "String"}}
    send(sqs, url, "käse", MessageAttributes=attributes)
    function = StandIn(lambda records: None)
    poller, _ = poll(url, function, lambda: left(sqs, url) == 0)
    (one,) = function.events[0]["Records"]
    assert one["body"] == "käse" and one["eventSource"] == "aws:sqs" and one["awsRegion"] == "eu-west-1"
    assert one["eventSourceARN"] == poller.queue.arn == ARN
    assert one["md5OfBody"] == hashlib.md5("käse".encode()).hexdigest()
    assert one["messageAttributes"]["colour"]["stringValue"] == "blue" and one["receiptHandle"]
    told = {"ApproximateReceiveCount", "SentTimestamp", "SenderId", "ApproximateFirstReceiveTimestamp"}
    assert told <= one["attributes"].keys() and one["attributes"]["ApproximateReceiveCount"] == "1"
    assert poller.result == "OK"


def test_what_is_good_goes_and_what_failed_comes_back(sqs: Any) -> None:
    letters = make(sqs, "letters")
    arn = sqs.get_queue_attributes(QueueUrl=letters, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 2})
    url = make(sqs, RedrivePolicy=policy)
    send(sqs, url, "good", "poison", "fine")

    def handler(records: list[Any]) -> Any:
        failed = [one["messageId"] for one in records if one["body"] == "poison"]
        return {"batchItemFailures": [{"itemIdentifier": one} for one in failed]}

    function = StandIn(handler)
    poll(url, function, lambda: left(sqs, letters) == 1)
    assert left(sqs, url) == 0
    seen = [body for batch in function.batches for body in batch]
    assert sorted(seen) == ["fine", "good", "poison", "poison"]


def test_without_reports_a_batch_fails_whole_or_not_at_all(sqs: Any) -> None:
    url = make(sqs)
    send(sqs, url, "a", "b")
    all_of_them = StandIn(lambda records: {"batchItemFailures": [{"itemIdentifier": records[0]["messageId"]}]})
    poll(url, all_of_them, lambda: left(sqs, url) == 0, Batching(reports=False))
    send(sqs, url, "c")
    tries: list[float] = []

    def fails_once(records: list[Any]) -> None:
        tries.append(time.monotonic())
        if len(tries) == 1:
            raise RuntimeError("planned")

    poller, _ = poll(url, StandIn(fails_once), lambda: left(sqs, url) == 0, Batching(reports=False))
    assert len(tries) == 2 and tries[1] - tries[0] > 0.9, "it comes back after its visibility timeout, not before"
    assert poller.result == "OK"


def test_an_answer_that_is_wrong_is_told(sqs: Any) -> None:
    url = make(sqs, visibility=5)
    send(sqs, url, "a", "b")
    function = StandIn(lambda records: {"batchItemFailures": [{"itemIdentifier": "who"}]})
    poller, told = poll(url, function, lambda: len(function.batches) > 0 and sum(map(len, function.batches)) == 2)
    assert left(sqs, url) == 2 and "who" in told[0] and "come back" in told[0]
    assert poller.result.startswith("PROBLEM: batchItemFailures has")


def test_throttled_is_tried_again_while_the_messages_are_hidden(sqs: Any) -> None:
    url = make(sqs, visibility=4)
    send(sqs, url, *map(str, range(10)))

    tries: list[int] = []

    def busy(records: list[Any]) -> None:
        tries.append(len(records))
        if len(tries) < 5:
            raise Throttled("ReservedFunctionConcurrentInvocationLimitExceeded")

    function = StandIn(busy)
    poll(url, function, lambda: left(sqs, url) == 0)
    assert len(function.batches) == 5 and all(batch == function.batches[0] for batch in function.batches)
    counts = {one["attributes"]["ApproximateReceiveCount"] for one in function.events[-1]["Records"]}
    assert counts == {"1"}, "SQS has not given them again"
    gaps = [later - before for before, later in zip(function.at, function.at[1:], strict=False)]
    assert gaps[-1] > 3 * gaps[0], "each time later"


def test_throttled_for_too_long_comes_back(sqs: Any) -> None:
    url = make(sqs)
    send(sqs, url, "a")
    full = [True]

    def busy(records: list[Any]) -> None:
        if full[0]:
            raise Throttled("full")

    function = StandIn(busy)

    def given_again() -> bool:
        full[0] = not any(
            one["attributes"]["ApproximateReceiveCount"] != "1"
            for event in function.events
            for one in event["Records"]
        )
        return left(sqs, url) == 0

    _, told = poll(url, function, given_again)
    assert any("throttled (full)" in line for line in told)


def test_a_window_fills_batches(sqs: Any) -> None:
    url = make(sqs, visibility=20)
    send(sqs, url, *map(str, range(25)))
    function = StandIn(lambda records: None)
    began = time.monotonic()
    poll(url, function, lambda: left(sqs, url) == 0, Batching(20, 2))
    assert sorted(map(len, function.batches)) == [5, 20]
    full, rest = sorted(zip(map(len, function.batches), function.at, strict=True), reverse=True)
    assert full[1] - began < 1.5, "a full batch does not wait"
    assert rest[1] - full[1] > 1.5, "one that is not full does"


def test_one_at_a_time_and_many(sqs: Any) -> None:
    url = make(sqs, visibility=20)
    send(sqs, url, *map(str, range(30)))

    async def slow() -> None:
        await asyncio.sleep(0.2)

    function = StandIn(lambda records: slow())
    poll(url, function, lambda: left(sqs, url) == 0, Batching(1, concurrency=3))
    assert function.most == 3 and all(len(batch) == 1 for batch in function.batches)
    assert len(function.batches) == 30


def test_a_group_keeps_its_order_whatever_fails(sqs: Any) -> None:
    url = make(sqs, "work.fifo", FifoQueue="true")
    wanted = {group: [f"{group}{number}" for number in range(12)] for group in "xyz"}
    for number in range(12):
        for group in "xyz":
            send(sqs, url, f"{group}{number}", MessageGroupId=group, MessageDeduplicationId=f"{group}{number}")
    done: dict[str, list[str]] = {group: [] for group in "xyz"}
    under_way: set[str] = set()
    tried: set[str] = set()

    async def work(records: list[Any]) -> Any:
        groups = {one["attributes"]["MessageGroupId"] for one in records}
        assert not groups & under_way, "one batch of a group at a time"
        under_way.update(groups)
        await asyncio.sleep(0.05)
        failed: list[str] = []
        stuck: set[str] = set()
        for one in records:
            body, group = one["body"], one["attributes"]["MessageGroupId"]
            if group in stuck or (body in ("x3", "z7") and body not in tried):
                tried.add(body)
                stuck.add(group)
                failed.append(one["messageId"])
            else:
                done[group].append(body)
        under_way.difference_update(groups)
        return {"batchItemFailures": [{"itemIdentifier": one} for one in failed]}

    function = StandIn(work)
    poller, told = poll(url, function, lambda: left(sqs, url) == 0, Batching(4), seconds=30)
    assert done == wanted and {"x3", "z7"} <= tried
    assert poller.result == "OK" and not told


def test_a_group_that_takes_too_long_is_not_worked_on_twice(sqs: Any) -> None:
    """Its visibility timeout is over before the function is: SQS gives it again, and it is left there."""
    url = make(sqs, "work.fifo", FifoQueue="true")
    for body in ("a0", "a1", "b0"):
        send(sqs, url, body, MessageGroupId=body[0], MessageDeduplicationId=body)
    done: list[str] = []

    async def slow(records: list[Any]) -> None:
        if records[0]["body"] == "a0":
            await asyncio.sleep(2.5)
        done.append(records[0]["body"])

    function = StandIn(slow)
    poll(url, function, lambda: left(sqs, url) == 0, Batching(1))
    assert [body for (body,) in function.batches].count("a0") == 1
    assert done == ["b0", "a0", "a1"]


def test_stopped_in_mid_flight_it_finishes_what_it_took(sqs: Any) -> None:
    url = make(sqs, visibility=20)
    send(sqs, url, *map(str, range(40)))
    done: list[str] = []

    async def slow(records: list[Any]) -> None:
        await asyncio.sleep(0.3)
        done.extend(one["body"] for one in records)

    function = StandIn(slow)
    poll(url, function, lambda: len(function.batches) >= 2, Batching(2, concurrency=4))
    assert 4 <= len(done) < 40 and len(set(done)) == len(done)
    assert left(sqs, url) == 40 - len(done), "what was done is out, all else is there"


def test_abandoned_in_mid_flight_it_all_comes_back(sqs: Any) -> None:
    url = make(sqs)
    send(sqs, url, "a", "b")
    function = StandIn(lambda records: asyncio.sleep(60))

    async def run() -> None:
        poller = Poller(await asyncio.to_thread(find_queue, url), Batching(), function, lambda line: None)
        poller.start()
        while not function.batches:
            await asyncio.sleep(0.02)
        poller.stop()
        poller.abandon()
        await asyncio.wait_for(poller.ended(), 5)

    asyncio.run(run())
    assert left(sqs, url) == 2
    poll(url, StandIn(lambda records: None), lambda: left(sqs, url) == 0)


def test_nothing_is_received_for_a_function_that_is_gone(sqs: Any) -> None:
    url = make(sqs)
    send(sqs, url, "a")
    function = StandIn(lambda records: None)
    function.there = False

    def back() -> bool:
        time.sleep(0.3)
        function.there = True
        return left(sqs, url) == 0

    poll(url, function, back)
    assert function.events[0]["Records"][0]["attributes"]["ApproximateReceiveCount"] == "1"


def test_a_message_that_no_event_can_hold(sqs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coldpress.emulate.queues.poller.LARGEST_EVENT", 2000)
    url = make(sqs, visibility=5)
    send(sqs, url, "x" * 3000)
    function = StandIn(lambda records: None)
    told: list[str] = []

    async def run() -> None:
        poller = Poller(await asyncio.to_thread(find_queue, url), Batching(), function, told.append)
        poller.start()
        while not told:
            await asyncio.sleep(0.02)
        poller.stop()
        await poller.ended()

    asyncio.run(asyncio.wait_for(run(), 10))
    assert "a function takes 2000" in told[0] and not function.events and left(sqs, url) == 1


# queues that are not there


@pytest.mark.parametrize("named", ["work", "ftp://x/y", "", "arn:aws:s3:::bucket"])
def test_no_queue_at_all(named: str) -> None:
    with pytest.raises(UsageError, match="is no queue: name its URL"):
        find_queue(named)


def test_a_queue_that_is_not_there(sqs: Any, account: str) -> None:
    for named in (f"{account}/123456789012/none", "arn:aws:sqs:eu-west-1:123456789012:none"):
        with pytest.raises(UsageError, match=f"there is no queue {named} in eu-west-1: look at its name"):
            find_queue(named)


def test_no_credentials(sqs: Any, account: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(ColdpressError, match="there are no AWS credentials: aws configure"):
        find_queue(f"{account}/123456789012/work")


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch, account: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", "http://127.0.0.1:9")
    with pytest.raises(ColdpressError, match="Could not connect"):
        find_queue("https://sqs.eu-west-1.amazonaws.com/123456789012/work")


def test_an_address_that_is_none(monkeypatch: pytest.MonkeyPatch, account: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", "moto")
    with pytest.raises(UsageError, match="Invalid endpoint: moto: look at AWS_ENDPOINT_URL_SQS"):
        find_queue(f"{account}/123456789012/work")


def test_a_queue_that_vanishes_is_told_and_looked_for_again(sqs: Any) -> None:
    url = make(sqs)

    async def run() -> list[str]:
        told: list[str] = []
        function = StandIn(lambda records: None)
        poller = Poller(await asyncio.to_thread(find_queue, url), Batching(), function, told.append)
        await asyncio.to_thread(sqs.delete_queue, QueueUrl=url)
        poller.start()
        while len(told) < 2:
            await asyncio.sleep(0.02)
        assert poller.result.startswith("PROBLEM: ")
        await asyncio.to_thread(make, sqs)
        await asyncio.to_thread(send, sqs, url, "a")
        while not function.batches:
            await asyncio.sleep(0.02)
        poller.stop()
        await poller.ended()
        return told

    told = asyncio.run(asyncio.wait_for(run(), 20))
    assert all("there is no queue" in line for line in told) and "tried again in 0.2 s" in told[1]


def test_one_worker_stays_and_waits(sqs: Any) -> None:
    """Many find nothing at the same time: one of them goes on."""
    url = make(sqs, visibility=20)
    send(sqs, url, *map(str, range(8)))

    async def run() -> None:
        function = StandIn(lambda records: None)
        poller = Poller(await asyncio.to_thread(find_queue, url), Batching(1), function, lambda line: None)
        poller.start()
        while len(function.batches) < 8:
            await asyncio.sleep(0.02)
        while poller.workers > 1:
            await asyncio.sleep(0.02)
        await asyncio.sleep(2.5)
        assert poller.workers == 1
        await asyncio.to_thread(send, sqs, url, "late")
        while len(function.batches) < 9:
            await asyncio.sleep(0.02)
        poller.stop()
        await poller.ended()

    asyncio.run(asyncio.wait_for(run(), 20))


@given(some.text())
def test_any_text_as_an_arn(named: str) -> None:
    found = parse_arn(named)
    assert found is None or len(found) == 3


def test_arns() -> None:
    assert parse_arn(ARN) == ("eu-west-1", "123456789012", "work")
    assert parse_arn(f"{ARN}.fifo") == ("eu-west-1", "123456789012", "work.fifo")
    assert parse_arn("arn:aws:kinesis:eu-west-1:123456789012:stream/x") is None
