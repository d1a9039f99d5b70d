"""Ten thousand messages through the emulator, one in a hundred of them poison, while sandboxes are killed: every
good one is answered and stored once, every poison one is in the dead-letter queue, none is lost."""

import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
import urllib3
from queue_account import moto_process

from coldpress.artifact import Artifact
from coldpress.emulate.front.server import Address
from coldpress.emulate.queues.batching import Batching
from coldpress.emulate.sandboxes.settings import Settings
from coldpress.emulate.serving import Options, Running, running
from coldpress_runtime.function import Function

MESSAGES, BATCH = 10_000, 10
POISON = ("{broken", '{"text": 5}', '{"text": null}', '{"nothing": 1}', "[1, 2]")
#: seconds that what a killed sandbox had is hidden: short, so that it comes again while the test runs
HIDDEN = 6
#: A kill hits about one batch in twenty. Who is hit at each of six receives, and good, would be a dead letter too:
#: one message in 64 million.
RECEIVES = 6
#: in the queue at a time: moto looks at all of them for each one
_AHEAD = 400
#: moto shows private objects to whoever has signed, by whatever signature: boto3 takes a minute for all of them
_SIGNED = {"Authorization": "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/s3/aws4_request, Signature=none"}
_WORDS = ("rain", "harbour", "at", "night", "two", "cats", "asleep", "bread", "yesterday", "a", "letter", "unsent")


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any, str]]:
    """SQS and S3 in a process each, clients of both, and where S3 is."""
    said = {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "DEFAULT_REGION": "us-east-1"}
    for name, value in said.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    with moto_process() as queues, moto_process() as objects:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", queues)
        sqs, s3 = boto3.client("sqs"), boto3.client("s3", endpoint_url=objects)
        yield sqs, s3, objects
        sqs.close()
        s3.close()


def make_queue(sqs: Any, name: str, **attributes: str) -> tuple[str, str]:
    url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    return url, sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def bodies(draw: random.Random) -> list[tuple[str, str | None]]:
    """Each message, and the text that it asks about; poison asks about none."""
    poison = set(draw.sample(range(MESSAGES), MESSAGES // 100))
    made: list[tuple[str, str | None]] = []
    for number in range(MESSAGES):
        if number in poison:
            made.append((draw.choice(POISON), None))
        else:
            text = f"{number}: {' '.join(draw.choices(_WORDS, k=draw.randint(1, 12)))}"
            made.append((json.dumps({"text": text}), text))
    return made


def counted(sqs: Any, url: str) -> int:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    return sum(int(n) for n in sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"].values())


def send_all(sqs: Any, url: str, made: list[tuple[str, str | None]]) -> dict[str, str | None]:
    """By message id, the text; a few hundred ahead of those who work."""
    sent: dict[str, str | None] = {}
    for at in range(0, len(made), BATCH):
        if at % 100 == 0:
            while counted(sqs, url) > _AHEAD:
                time.sleep(0.05)
        some = made[at : at + BATCH]
        entries = [{"Id": str(number), "MessageBody": body} for number, (body, _) in enumerate(some)]
        answer = sqs.send_message_batch(QueueUrl=url, Entries=entries)
        sent |= {one["MessageId"]: some[int(one["Id"])][1] for one in answer["Successful"]}
    return sent


def kill_some(served: Running, draw: random.Random, enough: threading.Event, kills: list[str]) -> None:
    """SIGKILL to the process of some sandbox, busy or not, every now and then."""
    while not enough.wait(draw.uniform(0.3, 1.2)):
        alive = [
            one for one in [*served.local.fleet.sandboxes.values()] if one.state in ("busy", "idle", "frozen")
        ]
        if not alive:
            continue
        victim = draw.choice(sorted(alive, key=lambda one: one.name))
        for pid in victim._process._runtime:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            kills.append(victim.state)


def letters_in(sqs: Any, url: str) -> list[str]:
    found: dict[str, None] = {}
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
        for one in messages:
            assert one["MessageId"] not in found, "a letter twice"
            found[one["MessageId"]] = None
    return [*found]


def stored_in(s3: Any, place: str) -> dict[str, Any]:
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket="answers")
    keys = [one["Key"] for page in pages for one in page.get("Contents", [])]
    with urllib3.PoolManager(headers=_SIGNED) as pool:
        found = [pool.request("GET", f"{place}/answers/{key}") for key in keys]
    assert {one.status for one in found} == {200}
    return {key: json.loads(one.data) for key, one in zip(keys, found, strict=True)}


@pytest.mark.slow
def test_none_is_lost_and_none_is_stored_twice(aws: tuple[Any, Any, str], artifact: Artifact) -> None:
    sqs, s3, place = aws
    s3.create_bucket(Bucket="answers")
    letters, letters_arn = make_queue(sqs, "letters", VisibilityTimeout="600")
    policy = json.dumps({"deadLetterTargetArn": letters_arn, "maxReceiveCount": RECEIVES})
    work, _ = make_queue(sqs, "work", VisibilityTimeout=str(HIDDEN), RedrivePolicy=policy)
    env = {"COLDPRESS_SINK": "s3://answers/out", "AWS_ENDPOINT_URL_S3": place}
    settings = Settings(name="minilm", timeout=HIDDEN - 1, concurrency=4, env=env)
    options = Options(Address(port=0), network=True, queues=(work,), batching=Batching(BATCH))
    draw, kills, enough = random.Random(10_000), list[str](), threading.Event()
    with running(artifact.path, settings, options) as served:
        killer = threading.Thread(target=kill_some, args=(served, random.Random(7), enough, kills))
        killer.start()
        try:
            sent = send_all(sqs, work, bodies(draw))
        finally:
            enough.set()
            killer.join()
        end = time.monotonic() + 120
        while counted(sqs, work):
            assert time.monotonic() < end, f"{counted(sqs, work)} are still there"
            time.sleep(0.2)
        totals = served.local.fleet.ledger.totals
    assert len(sent) == MESSAGES
    assert len(kills) >= 20 and totals.errors >= 10, f"kills that hit nothing prove nothing: {kills}, {totals}"
    poison = {name for name, text in sent.items() if text is None}
    assert len(poison) == MESSAGES // 100 and set(letters_in(sqs, letters)) == poison
    good = {f"out/{name}.json": text for name, text in sent.items() if text is not None}
    stored = stored_in(s3, place)
    assert stored.keys() == good.keys()
    function, names = Function(str(artifact.function_folder)), sorted(good)
    for at in range(0, len(names), 50):
        some = names[at : at + 50]
        direct = json.loads(function.handle({"text": [good[name] for name in some]}))["embeddings"]
        assert [stored[name]["embeddings"][0] for name in some] == direct
