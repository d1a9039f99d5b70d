"""Deploying to the local Lambda, where the real function really runs: versions, a guard, and going back."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from time import sleep

import pytest

from coldpress.artifact import Artifact
from coldpress.deploy.aws import Aws, connect
from coldpress.deploy.manage import delete, rollback, status
from coldpress.deploy.plan import plan
from coldpress.deploy.queues import Queue
from coldpress.deploy.rollout import alike, invoke, samples
from coldpress.deploy.steps import Facts
from coldpress.deploy.wanted import Wanted
from coldpress.emulate.serving import running_functions


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Nobody needs an account, keys or a region for it."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with running_functions(tmp_path / "functions", settle=0.0) as served:
        yield served.url


def deploy(local: str, wanted: Wanted) -> tuple[Facts, Aws]:
    aws = connect("us-east-1", local)
    assert aws.local
    return plan(aws, wanted).run(), aws


def test_it_is_deployed_answers_and_goes_back(local: str, artifact: Artifact) -> None:
    facts, aws = deploy(local, Wanted("minilm", artifact))
    assert facts.version == "1"
    (sample, *_) = samples(artifact)
    assert alike(sample["answer"], invoke(aws, "minilm", "live", sample["request"]))
    _, again = deploy(local, Wanted("minilm", artifact))
    assert again.writes == []
    facts, _ = deploy(local, Wanted("minilm", artifact, memory_mb=1024))
    assert facts.version == "2"
    rollback(aws, "minilm").run()
    found = status(aws, "minilm")
    assert found.live == "1" and found.versions == ["1", "2"]
    assert alike(sample["answer"], invoke(aws, "minilm", "live", sample["request"]))
    delete(aws, "minilm").run()
    assert aws.find("lambda", "get_function", FunctionName="minilm") is None


def test_a_token_guards_the_url(local: str, artifact: Artifact) -> None:
    facts, _ = deploy(local, Wanted("minilm", artifact, url="token"))

    def ask(headers: dict[str, str]) -> int:
        body = json.dumps({"text": "hello"}).encode()
        request = urllib.request.Request(facts.url, body, {"Content-Type": "application/json", **headers})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    assert ask({}) == 401
    assert ask({"Authorization": "Bearer wrong"}) == 401
    assert ask({"Authorization": f"Bearer {facts.token}"}) == 200


def test_a_queue_is_mapped_changed_and_gone(
    local: str, server: str, artifact: Artifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The local Lambda takes its messages; SQS is moto's."""
    for name, value in (("ACCESS_KEY_ID", "key"), ("SECRET_ACCESS_KEY", "secret"), ("ENDPOINT_URL_SQS", server)):
        monkeypatch.setenv(f"AWS_{name}", value)
    sqs = Aws(region="us-east-1", endpoint_url=server)
    url = sqs.call("sqs", "create_queue", QueueName="jobs", Attributes={"VisibilityTimeout": "180"})["QueueUrl"]
    jobs = Queue.parse("--queue", url)
    _, aws = deploy(local, Wanted("minilm", artifact, queues=(jobs,)))
    assert aws.writes[-1] == ("lambda", "create_event_source_mapping")
    assert deploy(local, Wanted("minilm", artifact, queues=(jobs,)))[1].writes == []
    _, aws = deploy(local, Wanted("minilm", artifact, queues=(jobs,), batch_size=3))
    assert aws.writes == [("lambda", "update_event_source_mapping")]
    sqs.call("sqs", "send_message", QueueUrl=url, MessageBody="hello")
    waiting = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    for _ in range(300):
        found = sqs.call("sqs", "get_queue_attributes", QueueUrl=url, AttributeNames=waiting)["Attributes"]
        if not any(map(int, found.values())):
            break
        sleep(0.1)
    assert not any(map(int, found.values())), "the message was not taken"
    _, aws = deploy(local, Wanted("minilm", artifact))
    assert aws.writes == [("lambda", "delete_event_source_mapping")]
    deploy(local, Wanted("minilm", artifact, queues=(jobs,)))
    delete(aws, "minilm").run()
    assert aws.call("lambda", "list_event_source_mappings")["EventSourceMappings"] == []
