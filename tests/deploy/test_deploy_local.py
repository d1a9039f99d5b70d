"""Deploying to the local Lambda, where the real function really runs: versions, a guard, and going back."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from coldpress.artifact import Artifact
from coldpress.deploy.aws import Aws, connect
from coldpress.deploy.manage import delete, rollback, status
from coldpress.deploy.plan import plan
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
