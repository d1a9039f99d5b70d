"""Queues before real sandboxes: by the command, and by event source mappings that boto3 makes."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from emulate_judges import FUNCTIONS
from test_control import create, deployed_to, refused, zipped
from test_queues import left, make, send
from test_queues import sqs as sqs

from coldpress.emulate.front.server import Address
from coldpress.emulate.queues.batching import Batching
from coldpress.emulate.sandboxes.settings import Settings
from coldpress.emulate.serving import Options, running

QUEUED = FUNCTIONS / "queued"
COMMAND = str(Path(sys.executable).parent / "coldpress")
REPORTS = {"FunctionResponseTypes": ["ReportBatchItemFailures"]}


def wait(until: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end
        time.sleep(0.05)


def arn_of(sqs: Any, url: str) -> str:
    told = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]
    return str(told["QueueArn"])


def with_letters(sqs: Any, visibility: int, receives: int = 2) -> tuple[str, str]:
    """A queue, and where what fails twice goes."""
    letters = make(sqs, "letters", 60)
    policy = json.dumps({"deadLetterTargetArn": arn_of(sqs, letters), "maxReceiveCount": receives})
    return make(sqs, visibility=visibility, RedrivePolicy=policy), letters


def test_sandboxes_that_die_fail_or_take_too_long(sqs: Any) -> None:
    url, letters = with_letters(sqs, visibility=2)
    bad = ["import os; os._exit(1)", "1 / 0", "import time; time.sleep(60)"]
    good = [f"x = {number}" for number in range(6)]
    send(sqs, url, *bad, *good)
    settings = Settings(timeout=1, concurrency=4)
    options = Options(Address(port=0), queues=(url,), batching=Batching(1))
    with running(QUEUED, settings, options) as served:
        wait(lambda: left(sqs, letters) == 3 and left(sqs, url) == 0)
        requests = [*served.local.fleet.ledger.requests]
    found = sqs.receive_message(QueueUrl=letters, MaxNumberOfMessages=10)["Messages"]
    assert sorted(one["Body"] for one in found) == sorted(bad)
    ran = sorted(entry.line for entry in served.log if entry.line.startswith("ran "))
    assert ran == sorted(f"ran {body}" for body in [*good, *bad, *bad]), "each bad one twice, each good one once"
    assert {one["kind"] for one in requests} == {"queue"}
    assert sorted(filter(None, (one["error"] for one in requests))) == [
        *["Runtime.ExitError"] * 2,
        *["Sandbox.Timedout"] * 2,
    ]
    assert sum(entry.line.startswith("REPORT RequestId") for entry in served.log) == len(requests)


def test_stopped_while_it_works(sqs: Any) -> None:
    """What a sandbox has taken is done and taken out; the rest is in the queue."""
    url = make(sqs, visibility=20)
    send(sqs, url, *["import time; time.sleep(0.5)"] * 12)
    options = Options(Address(port=0), queues=(url,), batching=Batching(1))
    with running(QUEUED, Settings(timeout=5, concurrency=2), options) as served:
        wait(lambda: any(entry.line.startswith("ran ") for entry in served.log))
    totals = served.local.fleet.ledger.totals
    assert totals.errors == 0 and 1 <= totals.requests < 12
    assert left(sqs, url) == 12 - totals.requests


@contextmanager
def command(folder: Path, *said: str) -> Iterator[tuple["subprocess.Popen[bytes]", Callable[[], str]]]:
    with (folder / "log").open("w+b") as log:
        process = subprocess.Popen([COMMAND, "serve", "--port", "0", *said], stdout=log, stderr=log)
        try:
            yield process, (folder / "log").read_text
        finally:
            process.kill()
            process.wait()


def test_the_command(sqs: Any, tmp_path: Path) -> None:
    one, other = make(sqs, "one", 5), make(sqs, "other", 5)
    send(sqs, one, *["x = 1"] * 15)
    said = ["--timeout", "5", "--queue", one, "--queue", other, "--batch-size", "20", "--batch-window", "1"]
    with command(tmp_path, str(QUEUED), *said) as (process, log):
        wait(lambda: left(sqs, one) == 0)
        send(sqs, other, "import time; time.sleep(0.5)")
        wait(lambda: "ran import time" in log())
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0, log()
    assert left(sqs, other) == 0, "what it had taken was finished"
    assert log().count("takes work of  arn:aws:sqs:eu-west-1:123456789012:o") == 2
    assert log().count("REPORT RequestId") == 2, "fifteen were one batch"


@pytest.mark.parametrize(
    ("said", "named"),
    [
        (["--queue", "work"], "'work' is no queue: name its URL"),
        (["--queue", "{account}/123456789012/none"], "there is no queue"),
        (["--queue", "{url}", "--timeout", "6"], "visibility timeout: 5 seconds is less than Function timeout: 6"),
        (["--queue", "{url}", "--timeout", "5", "--batch-size", "11"], "need a window of at least 1 s"),
        (["--queue", "{url}", "--timeout", "5", "--batch-size", "10001"], "10001"),
    ],
)
def test_what_the_command_refuses(sqs: Any, account: str, said: list[str], named: str) -> None:
    url = make(sqs, visibility=5)
    said = [one.format(account=account, url=url) for one in said]
    done = subprocess.run(
        [COMMAND, "serve", "--port", "0", str(QUEUED), *said],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2 and named in done.stderr and "Traceback" not in done.stderr


def test_queues_are_not_said_of_all_functions(tmp_path: Path) -> None:
    done = subprocess.run(
        [COMMAND, "serve", "--functions", str(tmp_path), "--queue", "x"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and "--queue is said of each function" in done.stderr


# event source mappings


def settled(client: Any, uuid: str, state: str) -> Any:
    wait(lambda: client.get_event_source_mapping(UUID=uuid)["State"] == state, 5)
    return client.get_event_source_mapping(UUID=uuid)


def without_metadata(answer: Any) -> Any:
    return {name: value for name, value in answer.items() if name != "ResponseMetadata"}


def test_a_mapping_feeds_a_function(sqs: Any, tmp_path: Path) -> None:
    url, letters = with_letters(sqs, visibility=2)
    source = arn_of(sqs, url)
    with deployed_to(tmp_path) as (served, client):
        create(client, "fed", zipped(QUEUED), Timeout=2, Publish=True)
        client.create_alias(FunctionName="fed", Name="live", FunctionVersion="1")
        made = client.create_event_source_mapping(EventSourceArn=source, FunctionName="fed:live", **REPORTS)
        assert made["State"] == "Creating" and made["BatchSize"] == 10 and made["EventSourceArn"] == source
        assert made["FunctionArn"].endswith(":function:fed:live")
        send(sqs, url, "assert headers['Lambda-Runtime-Invoked-Function-Arn'].endswith(':fed:live')", "1 / 0")
        wait(lambda: left(sqs, letters) == 1 and left(sqs, url) == 0)
        told = settled(client, made["UUID"], "Enabled")
        assert told["LastProcessingResult"] == "OK"
        assert any(line.line == "ran 1 / 0" for name, line in served.log if name == "fed")
        running_version = [version for name, version in served.local.plane.fleets.served if name == "fed"]
        assert running_version == ["1"]


def test_updates_and_deletes(sqs: Any, tmp_path: Path) -> None:
    url = make(sqs, visibility=2)
    source = arn_of(sqs, url)
    with deployed_to(tmp_path) as (_, client):
        create(client, "fed", zipped(QUEUED), Timeout=2)
        create(client, "other", zipped(QUEUED), Timeout=2)
        made = client.create_event_source_mapping(EventSourceArn=source, FunctionName="fed", Enabled=False)
        uuid = made["UUID"]
        assert settled(client, uuid, "Disabled")["FunctionResponseTypes"] == []
        send(sqs, url, "x = 1")
        time.sleep(0.5)
        assert left(sqs, url) == 1
        told = client.update_event_source_mapping(
            UUID=uuid, Enabled=True, BatchSize=100, MaximumBatchingWindowInSeconds=1, **REPORTS
        )
        assert told["State"] == "Enabling" and told["BatchSize"] == 100
        wait(lambda: left(sqs, url) == 0)
        told = client.update_event_source_mapping(UUID=uuid, ScalingConfig={"MaximumConcurrency": 2})
        assert told["State"] == "Updating" and told["ScalingConfig"] == {"MaximumConcurrency": 2}
        assert told["BatchSize"] == 100 and told["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert "ScalingConfig" not in client.update_event_source_mapping(UUID=uuid, ScalingConfig={})
        again = {"EventSourceArn": source, "FunctionName": "fed"}
        kind, status, message = refused(client.create_event_source_mapping, **again)
        assert (kind, status) == ("ResourceConflictException", 409) and uuid in message
        second = client.create_event_source_mapping(EventSourceArn=source, FunctionName="other", Enabled=False)
        listed = client.list_event_source_mappings()["EventSourceMappings"]
        assert {one["UUID"] for one in listed} == {uuid, second["UUID"]}
        for asked, found in (({"FunctionName": "fed"}, 1), ({"EventSourceArn": source}, 2), ({"MaxItems": 1}, 1)):
            assert len(client.list_event_source_mappings(**asked)["EventSourceMappings"]) == found
        assert client.update_event_source_mapping(UUID=uuid, Enabled=False)["State"] == "Disabling"
        settled(client, uuid, "Disabled")
        assert client.delete_event_source_mapping(UUID=uuid)["State"] == "Deleting"
        for call in (client.get_event_source_mapping, client.delete_event_source_mapping):
            assert refused(call, UUID=uuid)[:2] == ("ResourceNotFoundException", 404)


def test_a_function_without_room(sqs: Any, tmp_path: Path) -> None:
    """Nothing reserved is how a person stops a function: its messages wait."""
    url = make(sqs, visibility=2)
    with deployed_to(tmp_path) as (_, client):
        create(client, "fed", zipped(QUEUED), Timeout=2)
        client.put_function_concurrency(FunctionName="fed", ReservedConcurrentExecutions=0)
        said = {"EventSourceArn": arn_of(sqs, url), "FunctionName": "fed"}
        uuid = client.create_event_source_mapping(**said)["UUID"]
        send(sqs, url, "x = 1")
        reason = "throttled (ReservedFunctionConcurrentInvocationLimitExceeded)"
        wait(lambda: reason in client.get_event_source_mapping(UUID=uuid)["LastProcessingResult"])
        assert left(sqs, url) == 1
        client.delete_function_concurrency(FunctionName="fed")
        wait(lambda: left(sqs, url) == 0)


def test_a_change_takes_its_time(sqs: Any, tmp_path: Path) -> None:
    source = arn_of(sqs, make(sqs, visibility=2))
    with deployed_to(tmp_path, settle=0.5) as (_, client):
        create(client, "fed", zipped(QUEUED), Timeout=2)
        uuid = client.create_event_source_mapping(EventSourceArn=source, FunctionName="fed")["UUID"]
        assert client.get_event_source_mapping(UUID=uuid)["State"] == "Creating"
        assert refused(client.update_event_source_mapping, UUID=uuid)[:2] == ("ResourceInUseException", 400)
        assert refused(client.delete_event_source_mapping, UUID=uuid)[:2] == ("ResourceInUseException", 400)
        settled(client, uuid, "Enabled")
        client.delete_event_source_mapping(UUID=uuid)


def test_mappings_survive_a_restart(sqs: Any, tmp_path: Path) -> None:
    url = make(sqs, visibility=2)
    with deployed_to(tmp_path) as (_, client):
        create(client, "kept", zipped(QUEUED), Timeout=2)
        said = {"EventSourceArn": arn_of(sqs, url), "FunctionName": "kept", "BatchSize": 3, **REPORTS}
        uuid = client.create_event_source_mapping(**said)["UUID"]
        before = without_metadata(settled(client, uuid, "Enabled"))
    send(sqs, url, *["x = 1"] * 5)
    (tmp_path / "mappings" / ".partial-0123").write_text("{")
    with deployed_to(tmp_path) as (_, client):
        after = without_metadata(client.get_event_source_mapping(UUID=uuid))
        assert {**after, "LastProcessingResult": ""} == {**before, "LastProcessingResult": ""}
        wait(lambda: left(sqs, url) == 0)
        client.delete_function(FunctionName="kept")
        assert client.get_event_source_mapping(UUID=uuid)["State"] == "Enabled", "it outlives its function"
        send(sqs, url, "x = 2")
        wait(lambda: "not found" in client.get_event_source_mapping(UUID=uuid)["LastProcessingResult"])
        assert left(sqs, url) == 1
        client.delete_event_source_mapping(UUID=uuid)
    assert not list((tmp_path / "mappings").iterdir())


def test_a_queue_that_is_gone_at_a_restart(sqs: Any, tmp_path: Path) -> None:
    url = make(sqs, visibility=2)
    with deployed_to(tmp_path) as (_, client):
        create(client, "kept", zipped(QUEUED), Timeout=2)
        said = {"EventSourceArn": arn_of(sqs, url), "FunctionName": "kept"}
        uuid = client.create_event_source_mapping(**said)["UUID"]
    sqs.delete_queue(QueueUrl=url)
    with deployed_to(tmp_path) as (_, client):
        wait(lambda: "there is no queue" in client.get_event_source_mapping(UUID=uuid)["LastProcessingResult"])
        make(sqs, visibility=2)
        send(sqs, url, "x = 1")
        wait(lambda: left(sqs, url) == 0)


def test_what_a_mapping_may_not_say(sqs: Any, tmp_path: Path) -> None:
    url, fifo = make(sqs, visibility=5), make(sqs, "order.fifo", 5, FifoQueue="true")
    source, ordered = arn_of(sqs, url), arn_of(sqs, fifo)
    with deployed_to(tmp_path) as (_, client):
        create(client, "fed", zipped(QUEUED), Timeout=5)
        create(client, "slow", zipped(QUEUED), Timeout=6)
        good = {"EventSourceArn": source, "FunctionName": "fed"}
        for said, named in (
            ({"BatchSize": 11}, "at least 1 s"),
            ({"EventSourceArn": ordered, "MaximumBatchingWindowInSeconds": 1}, "FIFO"),
            ({"EventSourceArn": ordered, "BatchSize": 11}, "at most 10"),
            ({"FunctionName": "slow"}, "visibility timeout: 5 seconds is less than Function timeout: 6"),
            ({"EventSourceArn": f"{source}-none"}, "there is no queue"),
            ({"EventSourceArn": "arn:aws:kinesis:eu-west-1:123456789012:stream/x"}, "must be an SQS queue's"),
            ({"FilterCriteria": {"Filters": [{"Pattern": "{}"}]}}, "messages are not filtered here"),
            ({"StartingPosition": "LATEST"}, "said of streams"),
            ({"ProvisionedPollerConfig": {"MinimumPollers": 2}}, "no pollers of your own"),
        ):
            kind, status, message = refused(client.create_event_source_mapping, **{**good, **said})
            assert (kind, status) == ("InvalidParameterValueException", 400) and named in message, said
        missing = {**good, "FunctionName": "none"}
        assert refused(client.create_event_source_mapping, **missing)[:2] == ("ResourceNotFoundException", 404)
        made = client.create_event_source_mapping(Enabled=False, **good)
        much = {"UUID": made["UUID"], "BatchSize": 11}
        assert "at least 1 s" in refused(client.update_event_source_mapping, **much)[2]
        assert [one["UUID"] for one in client.list_event_source_mappings()["EventSourceMappings"]] == [
            made["UUID"]
        ]
