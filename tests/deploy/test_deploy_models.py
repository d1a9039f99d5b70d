"""Models in S3 against moto's server: put there once, before they are read, and readable to the role alone."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from deploy_account import Killed, Mortal, connect, deploy, pressed
from test_deploy_queues import allowed

from coldpress.artifact import Artifact
from coldpress.deploy import aws as calls
from coldpress.deploy.plan import plan
from coldpress.deploy.wanted import Wanted
from coldpress.errors import DeployError
from coldpress.export.model import stack

FILES = {"model.press": b"weights", "tokenizer.json": b"{}"}


@pytest.fixture
def artifact(tmp_path: Path) -> Artifact:
    made = pressed(tmp_path / "out", b"one")
    for name, data in FILES.items():
        path = made.path / "store" / hashlib.sha256(data).hexdigest() / name
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    manifest = {**made.manifest, "many": {"default": None, "at": "s3://models/pressed/", "tenants": 0}}
    (made.path / "coldpress.json").write_text(json.dumps(manifest))
    return Artifact.open(made.path)


def make_bucket(account: str) -> Any:
    aws = connect(account)
    where = {"LocationConstraint": "eu-west-1"}
    aws.call("s3", "create_bucket", Bucket="models", CreateBucketConfiguration=where)
    return aws


def objects(aws: Any) -> dict[str, bytes]:
    found = aws.call("s3", "list_objects_v2", Bucket="models").get("Contents", [])
    keys = [one["Key"] for one in found]
    return {key: aws.call("s3", "get_object", Bucket="models", Key=key)["Body"].read() for key in keys}


EXPECTED = {f"pressed/{hashlib.sha256(data).hexdigest()}/{name}": data for name, data in FILES.items()}


def test_put_once(account: str, artifact: Artifact) -> None:
    aws = make_bucket(account)
    _, writes = deploy(account, Wanted("small", artifact))
    assert writes.count(("s3", "put_object")) == 2
    assert writes.index(("s3", "put_object")) < writes.index(("lambda", "create_function"))
    assert objects(aws) == EXPECTED
    assert allowed(aws) == [(["s3:GetObject"], "arn:aws:s3:::models/pressed/*")]
    assert deploy(account, Wanted("small", artifact))[1] == []


def test_one_that_is_there_in_part_is_put_again(account: str, artifact: Artifact) -> None:
    aws = make_bucket(account)
    deploy(account, Wanted("small", artifact))
    aws.call("s3", "put_object", Bucket="models", Key=next(iter(EXPECTED)), Body=b"")
    assert deploy(account, Wanted("small", artifact))[1] == [("s3", "put_object")]
    assert objects(aws) == EXPECTED


def test_no_such_bucket(account: str, artifact: Artifact) -> None:
    with pytest.raises(DeployError, match=r"there is no bucket models: make it \(aws s3 mb s3://models --region"):
        plan(connect(account), Wanted("small", artifact))


def test_s3_is_told_what_it_must_hash_to(account: str, artifact: Artifact) -> None:
    """So that it refuses what changed on the way; moto does not look."""
    make_bucket(account)
    aws, sent = connect(account), []

    def note(params: dict[str, Any], **_: Any) -> None:
        sent.append((params["Key"].split("/")[1], base64.b64decode(params["ChecksumSHA256"]).hex()))

    events = aws.client("s3").meta.events
    events.register("provide-client-params.s3.PutObject", note)
    try:
        plan(aws, Wanted("small", artifact)).run()
    finally:
        events.unregister("provide-client-params.s3.PutObject", note)
    assert len(sent) == 2 and all(folder == checksum for folder, checksum in sent)


def test_killed_after_each_call(account: str, artifact: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    aws = make_bucket(account)
    monkeypatch.setattr(calls, "sleep", lambda seconds: None, raising=False)
    for left in range(40):
        mortal = connect(account, Mortal)
        assert isinstance(mortal, Mortal)
        mortal.left = left
        try:
            plan(mortal, Wanted("small", artifact)).run()
        except Killed:
            continue
        break
    else:
        raise AssertionError("it never came to its end")
    assert objects(aws) == EXPECTED
    assert deploy(account, Wanted("small", artifact))[1] == []


def test_an_exported_stack_says_what_to_do(artifact: Artifact) -> None:
    notes = dict(stack(Wanted("small", artifact)).notes)
    assert notes["The models"].splitlines()[3] == f"aws s3 sync {artifact.path}/store s3://models/pressed"
