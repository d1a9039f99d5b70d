"""The clients that people have, unchanged: boto3, the AWS command line, curl, OpenAI's SDK."""

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import openai
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from emulate_judges import PATH, place, post

from coldpress.artifact import Artifact
from coldpress.emulate.front.background import RETRY_AFTER
from coldpress.emulate.front.function_url import UrlSettings
from coldpress.emulate.front.server import Address
from coldpress.emulate.sandboxes.settings import Settings
from coldpress.emulate.serving import Options, Running, running

KEYS = {"aws_access_key_id": "AKID", "aws_secret_access_key": "secret", "region_name": "us-east-1"}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("clients")
    options = Options(Address(port=0), dead_letters=folder / "dead.jsonl")
    with running(place("judged", folder), Settings(timeout=3, concurrency=2), options) as served:
        yield served


@pytest.fixture(scope="module")
def client(judged: Running) -> Iterator[Any]:
    once = Config(retries={"total_max_attempts": 1})
    made = boto3.client("lambda", endpoint_url=judged.url, config=once, **KEYS)
    yield made
    made.close()


def invoke(client: Any, event: object, **more: Any) -> Any:
    return client.invoke(FunctionName="function", Payload=json.dumps(event), **more)


def test_an_invocation(client: Any) -> None:
    answer = invoke(client, {"do": "echo", "value": ["ü", 1]})
    assert answer["StatusCode"] == 200
    assert answer["ExecutedVersion"] == "$LATEST"
    assert "FunctionError" not in answer
    assert json.load(answer["Payload"]) == ["ü", 1]


def test_a_function_error(client: Any) -> None:
    answer = invoke(client, {"do": "raise", "kind": "ValueError", "value": "no"})
    assert (answer["StatusCode"], answer["FunctionError"]) == (200, "Unhandled")
    assert json.load(answer["Payload"])["errorType"] == "ValueError"


def test_the_tail_of_the_log(client: Any) -> None:
    answer = invoke(client, {"do": "print"}, LogType="Tail")
    lines = base64.b64decode(answer["LogResult"]).decode().splitlines()
    request_id = answer["ResponseMetadata"]["RequestId"]
    assert lines[0] == f"START RequestId: {request_id} Version: $LATEST"
    assert "said on standard output" in lines and "said on standard error" in lines
    assert lines[-2] == f"END RequestId: {request_id}"
    assert lines[-1].startswith(f"REPORT RequestId: {request_id}\tDuration: ")


def test_names_and_qualifiers(client: Any) -> None:
    arn = "arn:aws:lambda:us-east-1:012345678912:function:function"
    for name in ("function", "function:$LATEST", arn, f"{arn}:$LATEST", "012345678912:function:function"):
        assert client.invoke(FunctionName=name, Payload=b"{}")["StatusCode"] == 200
    assert client.invoke(FunctionName="function", Qualifier="$LATEST", Payload=b"{}")["StatusCode"] == 200
    for wanted in ({"FunctionName": "other"}, {"FunctionName": "function", "Qualifier": "live"}):
        with pytest.raises(client.exceptions.ResourceNotFoundException, match="Function not found"):
            client.invoke(Payload=b"{}", **wanted)


def test_a_dry_run_runs_nothing(judged: Running, client: Any) -> None:
    before = judged.local.fleet.ledger.totals.requests
    assert invoke(client, {"do": "echo", "value": 1}, InvocationType="DryRun")["StatusCode"] == 204
    assert judged.local.fleet.ledger.totals.requests == before


def test_what_is_no_json(client: Any) -> None:
    with pytest.raises(client.exceptions.InvalidRequestContentException, match="Could not parse"):
        client.invoke(FunctionName="function", Payload=b"{no")


def test_what_is_too_large(client: Any, judged: Running) -> None:
    most = b'"' + b"x" * (6 * 1024 * 1024 - 2) + b'"'
    assert client.invoke(FunctionName="function", Payload=most)["StatusCode"] == 200
    for size in (1, 70_000, 5_000_000):
        with pytest.raises(ClientError) as refused:
            client.invoke(FunctionName="function", Payload=most[:-1] + b"x" * size + b'"')
        assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 413
        assert "must be smaller than 6291456 bytes" in str(refused.value)


def test_too_many_at_once(client: Any, judged: Running) -> None:
    """Two may run; of six at once four are throttled, and told why."""
    from concurrent.futures import ThreadPoolExecutor

    def one(_: int) -> Any:
        try:
            return invoke(client, {"do": "sleep", "seconds": 1})["StatusCode"]
        except client.exceptions.TooManyRequestsException as refused:
            return refused.response["Reason"], refused.response["ResponseMetadata"]["HTTPStatusCode"]

    with ThreadPoolExecutor(6) as pool:
        outcomes = [*pool.map(one, range(6))]
    throttled = ("ReservedFunctionConcurrentInvocationLimitExceeded", 429)
    assert outcomes.count(200) == 2 and outcomes.count(throttled) == 4


def test_an_event_is_taken_and_run_later(client: Any, judged: Running) -> None:
    before = judged.local.fleet.ledger.totals.requests
    assert invoke(client, {"do": "echo", "value": 1}, InvocationType="Event")["StatusCode"] == 202
    deadline = time.monotonic() + 5
    while judged.local.fleet.ledger.totals.requests == before:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_event_that_fails_is_tried_three_times_then_buried(client: Any, judged: Running) -> None:
    """Twenty at once where two fit: being throttled costs no try."""
    dead, totals = judged.local.dead_letters, judged.local.fleet.ledger.totals
    before = totals.errors
    for number in range(20):
        event = {"do": "raise", "kind": "ValueError", "value": f"event {number}"}
        assert invoke(client, event, InvocationType="Event")["StatusCode"] == 202
    deadline = time.monotonic() + 3 * RETRY_AFTER + 20
    while not dead.exists() or len(dead.read_text().splitlines()) < 20:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    letters = [json.loads(line) for line in dead.read_text().splitlines()]
    assert totals.errors - before == 60
    assert {letter["requestPayload"]["value"] for letter in letters} == {f"event {n}" for n in range(20)}
    assert letters[0]["requestContext"]["condition"] == "RetriesExhausted"
    assert letters[0]["requestContext"]["approximateInvokeCount"] == 3
    assert letters[0]["responsePayload"]["errorType"] == "ValueError"


def test_events_that_wait_survive_the_end(tmp_path: Path) -> None:
    """Stopped while events wait for room or for another try: each is in the file."""
    options = Options(Address(port=0), dead_letters=tmp_path / "dead.jsonl")
    with running(place("any", tmp_path), Settings(concurrency=1), options) as served:
        for number in range(5):
            code = f"raise ValueError({number})" if number else "import time; time.sleep(0.5)"
            headers = {"X-Amz-Invocation-Type": "Event"}
            assert post(served.url + PATH, json.dumps({"code": code}).encode(), headers).status == 202
    letters = [json.loads(line) for line in (tmp_path / "dead.jsonl").read_text().splitlines()]
    assert sorted(letter["requestPayload"]["code"] for letter in letters) == [
        f"raise ValueError({n})" for n in range(1, 5)
    ]
    assert {letter["requestContext"]["condition"] for letter in letters} == {"EmulatorStopped"}


def test_an_event_may_have_a_megabyte(client: Any) -> None:
    with pytest.raises(ClientError) as refused:
        invoke(client, "x" * (1 << 20), InvocationType="Event")
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 413


def test_a_client_context(client: Any) -> None:
    context = base64.b64encode(b'{"custom": {"a": "b"}}').decode()
    answer = invoke(client, {"do": "context"}, ClientContext=context)
    assert json.load(answer["Payload"])["client"] is True


def test_a_stream_of_one_piece(client: Any) -> None:
    """AWS's own client cannot stream: its whole answer is one chunk."""
    answer = client.invoke_with_response_stream(
        FunctionName="function", Payload=b'{"do": "echo", "value": "whole"}', LogType="Tail"
    )
    events = [*answer["EventStream"]]
    assert b"".join(event["PayloadChunk"]["Payload"] for event in events if "PayloadChunk" in event) == b'"whole"'
    assert "REPORT" in base64.b64decode(events[-1]["InvokeComplete"]["LogResult"]).decode()


def test_a_stream_that_fails(client: Any) -> None:
    event = json.dumps({"do": "raise", "kind": "ValueError", "value": "no"})
    answer = client.invoke_with_response_stream(FunctionName="function", Payload=event)
    last = [*answer["EventStream"]][-1]["InvokeComplete"]
    assert last["ErrorCode"] == "ValueError"
    assert json.loads(last["ErrorDetails"])["errorMessage"] == "no"


def test_the_aws_command_line(judged: Running, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "AWS_ACCESS_KEY_ID": "AKID",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    command = [str(Path(sys.executable).parent / "aws"), "lambda", "invoke", "--endpoint-url", judged.url]
    command += ["--function-name", "function", "--log-type", "Tail"]
    command += ["--payload", '{"do": "echo", "value": "by hand"}', str(tmp_path / "answer.json")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["StatusCode"] == 200
    assert json.loads((tmp_path / "answer.json").read_text()) == "by hand"


def test_curl(judged: Running) -> None:
    url = f"{judged.url}/2015-03-31/functions/function/invocations"
    said = subprocess.run(
        ["curl", "-sS", "-d", '{"do": "echo", "value": 5}', url], capture_output=True, check=True
    )
    assert said.stdout == b"5"


def test_openais_sdk_and_its_token(artifact: Artifact) -> None:
    from hashlib import sha256

    env = {"COLDPRESS_TOKEN_SHA256": sha256(b"sesame").hexdigest()}
    options = Options(Address(port=0), UrlSettings(origins=("https://app.example",)))
    with running(artifact.path, Settings(env=env), options) as served:
        client = openai.OpenAI(base_url=f"{served.url}/v1", api_key="sesame")
        made = client.embeddings.create(model="any", input=["cold", "pressed"])
        assert [len(one.embedding) for one in made.data] == [384, 384]
        with pytest.raises(openai.AuthenticationError):
            openai.OpenAI(base_url=f"{served.url}/v1", api_key="wrong").embeddings.create(model="any", input="x")
        refused = post(f"{served.url}/", b'{"text": "no token"}')
        assert refused.status == 401
        client.close()
