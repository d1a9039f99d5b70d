"""Objects and messages by our own client, against moto's S3 and SQS over sockets; boto3 reads what came."""

import http.client
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import boto3
import pytest

from coldpress_runtime import settings
from coldpress_runtime.aws import client
from coldpress_runtime.aws.client import AwsError, Client
from coldpress_runtime.aws.s3 import Bucket, parts
from coldpress_runtime.aws.sqs import Queue


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[bytes, bytes]]:
    """The environment as the function reads it; connections are closed at the end."""
    made: list[Client] = []

    class Noted(Client):
        def __init__(self, *said: str) -> None:
            super().__init__(*said)
            made.append(self)

    for module in ("s3", "sqs"):
        monkeypatch.setattr(f"coldpress_runtime.aws.{module}.Client", Noted)
    monkeypatch.setitem(globals(), "Client", Noted)
    found = {b"AWS_ACCESS_KEY_ID": b"key", b"AWS_SECRET_ACCESS_KEY": b"secret", b"AWS_REGION": b"eu-west-1"}
    monkeypatch.setattr(settings, "environ", found)
    monkeypatch.setattr(client, "sleep", lambda seconds: None)
    yield found
    for one in made:
        one.close()


@pytest.fixture
def aws(account: str, variables: dict[bytes, bytes]) -> Any:
    variables[b"AWS_ENDPOINT_URL"] = account.encode()
    return lambda service: boto3.client(service, endpoint_url=account)


@pytest.mark.parametrize("key", ["plain", "a/b c/ü+&=?#%.json", "..", "a//b", "x" * 500])
def test_objects(aws: Any, key: str) -> None:
    aws("s3").create_bucket(Bucket="out", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    bucket = Bucket("out")
    assert bucket.look(key) is None
    bucket.put(key, b'{"a": 1}')
    found = aws("s3").get_object(Bucket="out", Key=key)
    assert found["Body"].read() == b'{"a": 1}' and found["ContentType"] == "application/json"
    assert bucket.get(key) == b'{"a": 1}'
    size, tag = bucket.look(key) or (0, "")
    assert size == 8 and bucket.get_part(key, 2, 3, tag) == b'a":'


def test_what_is_not_there(aws: Any) -> None:
    with pytest.raises(AwsError, match=r"s3 GET .*/none/key failed: 404 .*NoSuchBucket") as missing:
        Bucket("none").get("key")
    assert missing.value.status == 404


def test_messages(aws: Any) -> None:
    sqs = aws("sqs")
    url = sqs.create_queue(QueueName="answers")["QueueUrl"]
    Queue(url).send([(f"id{number}", f'{{"n": {number}, "ü": "☃"}}') for number in range(23)])
    seen = []
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
        seen += [json.loads(one["Body"])["n"] for one in messages]
        for one in messages:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
    assert sorted(seen) == list(range(23))


def test_a_fifo_queue_takes_each_once(aws: Any) -> None:
    sqs = aws("sqs")
    url = sqs.create_queue(QueueName="answers.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    for _ in range(3):
        Queue(url).send([("one", "1"), ("two", "2")])
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
    assert found["Attributes"]["ApproximateNumberOfMessages"] == "2"


class Moody(BaseHTTPRequestHandler):
    """Answers as the list says, then well."""

    protocol_version = "HTTP/1.1"
    answers: list[Any]
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.headers["authorization"])
        answer = self.answers.pop(0) if self.answers else (200, b"well")
        if answer is None:  # hang up in the middle
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            self.close_connection = True
            return
        status, body = answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - its name there
        """Nobody reads it."""


@pytest.fixture
def moody(variables: dict[bytes, bytes]) -> Iterator[type[Moody]]:
    handler = type("Own", (Moody,), {"answers": [], "asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    variables[b"AWS_ENDPOINT_URL_S3"] = f"http://127.0.0.1:{server.server_address[1]}".encode()
    yield handler
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    "answers",
    [
        [(503, b"SlowDown"), (500, b"")],
        [(400, b"<Code>RequestTimeout</Code>")],
        [None, (429, b"")],
        [None, None, None, None],
    ],
)
def test_what_passes_is_asked_again(moody: type[Moody], answers: list[Any]) -> None:
    moody.answers.extend(answers)
    assert Client("s3").call("GET", "/").body == b"well"
    assert len(moody.asked) == len(answers) + 1


def test_what_does_not_pass_is_told(moody: type[Moody]) -> None:
    moody.answers.extend([(403, b"<Code>AccessDenied</Code>")])
    with pytest.raises(AwsError, match=r"403 <Code>AccessDenied</Code>") as refused:
        Client("s3").call("GET", "/")
    assert refused.value.status == 403 and len(moody.asked) == 1
    moody.answers.extend([(503, b"busy")] * 9)
    with pytest.raises(AwsError, match="503 busy"):
        Client("s3").call("GET", "/")
    assert len(moody.asked) == 1 + 5


def test_without_a_role(variables: dict[bytes, bytes]) -> None:
    del variables[b"AWS_SECRET_ACCESS_KEY"]
    with pytest.raises(Exception, match="the function needs a role"):
        Client("s3").call("GET", "/")


def test_hosts(variables: dict[bytes, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = []

    class Seen:
        def __init__(self, host: str, timeout: float) -> None:
            hosts.append(host)

        def request(self, method: str, path: str, body: Any, headers: dict[str, str]) -> None:
            hosts.append(path)
            raise OSError("no network here")

        def close(self) -> None:
            """Nothing was opened."""

    monkeypatch.setattr(http.client, "HTTPSConnection", Seen)
    for bucket in ("plain", "dotted.name"):
        with pytest.raises(AwsError, match="no network here"):
            Bucket(bucket).get("key")
    own, shared = "plain.s3.eu-west-1.amazonaws.com", "s3.eu-west-1.amazonaws.com"
    assert set(hosts) == {own, "/key", shared, "/dotted.name/key"}


def test_parts() -> None:
    assert [*parts(10, 4)] == [(0, 4), (4, 4), (8, 2)] and [*parts(0, 4)] == []
