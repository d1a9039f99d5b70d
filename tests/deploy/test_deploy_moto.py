"""Deploying against moto's server, over real sockets with real boto3: Lambda, IAM, logs and S3 as stand-ins."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from deploy_account import Killed, Mortal, connect, deploy, pressed

from coldpress.artifact import Artifact
from coldpress.deploy.aws import Aws
from coldpress.deploy.parts import code, role
from coldpress.deploy.plan import plan
from coldpress.deploy.steps import KEEP
from coldpress.deploy.wanted import Wanted
from coldpress.errors import DeployError, UsageError


@pytest.fixture
def artifact(tmp_path: Path) -> Artifact:
    return pressed(tmp_path / "out", b"one")


def state(account: str, name: str = "small") -> dict[str, Any]:
    """All that a deployment leaves, without what AWS makes up."""
    aws = connect(account)
    live = {"FunctionName": name, "Qualifier": "live"}
    alias = aws.call("lambda", "get_alias", FunctionName=name, Name="live")
    running = aws.call("lambda", "get_function_configuration", **live)
    document = aws.find("lambda", "get_policy", **live)
    address = aws.find("lambda", "get_function_url_config", **live)
    return {
        "code": running["CodeSha256"],
        "memory": running["MemorySize"],
        "names": sorted(running["Environment"]["Variables"]),
        "version": alias["FunctionVersion"],
        "weights": (alias.get("RoutingConfig") or {}).get("AdditionalVersionWeights"),
        "allowed": sorted(one["Sid"] for one in json.loads(document["Policy"])["Statement"]) if document else [],
        "url": address and address["AuthType"],
        "role": aws.call("iam", "get_role_policy", RoleName=f"coldpress-{name}-eu-west-1", PolicyName=role.POLICY)[
            "PolicyDocument"
        ],
        "log": aws.call("logs", "describe_log_groups")["logGroups"][0]["retentionInDays"],
        "reserved": aws.call("lambda", "get_function_concurrency", FunctionName=name).get(
            "ReservedConcurrentExecutions"
        ),
    }


def test_once_and_again(account: str, artifact: Artifact) -> None:
    facts, writes = deploy(account, Wanted("small", artifact))
    assert facts.version == "1" and facts.url.startswith("https://")
    assert ("lambda", "create_function") in writes
    before = state(account)
    assert before["url"] == "AWS_IAM" and before["allowed"] == [] and before["reserved"] is None
    again, writes = deploy(account, Wanted("small", artifact))
    assert writes == []
    assert (again.version, again.url) == (facts.version, facts.url)
    assert state(account) == before


def test_a_changed_model_is_a_new_version(account: str, artifact: Artifact, tmp_path: Path) -> None:
    deploy(account, Wanted("small", artifact))
    other = pressed(tmp_path / "other", b"two")
    facts, writes = deploy(account, Wanted("small", other))
    assert facts.version == "2"
    assert writes == [
        ("lambda", "update_function_code"),
        ("lambda", "publish_version"),
        ("lambda", "update_alias"),
    ]
    assert state(account)["code"] == code.code_sha256(b"two")


def test_settings(account: str, artifact: Artifact) -> None:
    deploy(account, Wanted("small", artifact))
    _, writes = deploy(account, Wanted("small", artifact, memory_mb=512, env={"A": "b"}))
    assert writes[0] == ("lambda", "update_function_configuration")
    after = state(account)
    assert after["memory"] == 512 and after["names"] == ["A", "AWS_LAMBDA_EXEC_WRAPPER"]


def test_a_token_is_shown_once_and_kept_as_a_hash(account: str, artifact: Artifact) -> None:
    facts, _ = deploy(account, Wanted("small", artifact, url="token"))
    assert len(facts.token) > 30
    aws = Aws(endpoint_url=account)
    found = aws.call("lambda", "get_function_configuration", FunctionName="small", Qualifier="live")
    assert facts.token not in json.dumps(found, default=str)
    assert len(found["Environment"]["Variables"]["COLDPRESS_TOKEN_SHA256"]) == 64
    assert state(account)["allowed"] == ["coldpress-invoke", "coldpress-url"]
    again, writes = deploy(account, Wanted("small", artifact, url="token"))
    assert writes == [] and again.token == ""


def test_nothing_is_open_unless_said_and_then_it_is_capped(account: str, artifact: Artifact) -> None:
    _, writes = deploy(account, Wanted("small", artifact, url="public"))
    after = state(account)
    assert after["url"] == "NONE" and after["reserved"] == 10
    assert writes.index(("lambda", "put_function_concurrency")) < writes.index(("lambda", "add_permission"))
    _, writes = deploy(account, Wanted("small", artifact, url="iam"))
    after = state(account)
    assert after["url"] == "AWS_IAM" and after["allowed"] == [] and after["reserved"] is None


def test_a_cap_stays_until_there_is_a_guard(account: str, artifact: Artifact) -> None:
    """From public to a token: nobody can spend without a limit in between."""
    deploy(account, Wanted("small", artifact, url="public"))
    _, writes = deploy(account, Wanted("small", artifact, url="token"))
    assert writes[-1] == ("lambda", "delete_function_concurrency")
    assert state(account)["reserved"] is None


def test_a_role_that_was_made_anew_is_told_to_the_function(account: str, artifact: Artifact) -> None:
    deploy(account, Wanted("small", artifact))
    aws = connect(account)
    aws.call("iam", "delete_role_policy", RoleName="coldpress-small-eu-west-1", PolicyName=role.POLICY)
    aws.call("iam", "delete_role", RoleName="coldpress-small-eu-west-1")
    _, writes = deploy(account, Wanted("small", artifact))
    assert ("lambda", "update_function_configuration") in writes
    assert deploy(account, Wanted("small", artifact))[1] == []


def test_a_door_is_closed_before_its_guard_goes(account: str, artifact: Artifact) -> None:
    """From a token to IAM: the version without a token is live only when the URL is shut."""
    deploy(account, Wanted("small", artifact, url="token"))
    _, writes = deploy(account, Wanted("small", artifact, url="iam"))
    assert writes.index(("lambda", "update_function_url_config")) < writes.index(("lambda", "update_alias"))


def test_large_code_goes_through_a_private_bucket(
    account: str, artifact: Artifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code, "DIRECT", 2)
    _, writes = deploy(account, Wanted("small", artifact))
    assert ("s3", "put_object") in writes and ("s3", "put_public_access_block") in writes
    assert state(account)["code"] == code.code_sha256(b"one")
    assert deploy(account, Wanted("small", artifact))[1] == []


#: every action that the function's role has, and why
ALLOWED = {
    "logs:CreateLogStream": "each sandbox writes to a stream of its own",
    "logs:PutLogEvents": "its lines",
}


def test_the_role_may_do_the_least_that_works(account: str, artifact: Artifact) -> None:
    deploy(account, Wanted("small", artifact))
    (statement,) = state(account)["role"]["Statement"]
    assert set(statement["Action"]) == set(ALLOWED)
    assert statement["Resource"].endswith(":log-group:/aws/lambda/small:*")
    trust = Aws(endpoint_url=account).call("iam", "get_role", RoleName="coldpress-small-eu-west-1")
    assert trust["Role"]["AssumeRolePolicyDocument"] == role.TRUST


@pytest.mark.parametrize("url", ["iam", "token", "public"])
def test_killed_after_each_call_and_run_again(account: str, artifact: Artifact, url: str) -> None:
    """The same end state, every time."""
    wanted = Wanted("small", artifact, url=url)
    deploy(account, wanted)
    expected = state(account)
    died = 0
    while True:
        urllib.request.urlopen(urllib.request.Request(f"{account}/moto-api/reset", method="POST")).read()
        mortal = connect(account, Mortal)
        assert isinstance(mortal, Mortal)
        mortal.left = died
        try:
            plan(mortal, wanted).run()
        except Killed:
            deploy(account, wanted)
            assert state(account) == expected, f"killed after call {died + 1}: {mortal.calls[-1]}"
            died += 1
            continue
        break
    assert died >= 10


def test_what_is_wrong(account: str, artifact: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong, says in (
        ({"name": "a b"}, "'a b' is not a function's name"),
        ({"retention_days": 2}, "--retention 2"),
        ({"snapstart": True, "provisioned": 1}, "exclude each other"),
        ({"snapstart": True, "tmp_mb": 1024}, "not 1024"),
        ({"env": {"A": "x" * 5000}}, "Lambda takes 4,096"),
    ):
        with pytest.raises(UsageError, match=says):
            Wanted(**{"name": "small", "artifact": artifact, **wrong})  # type: ignore[arg-type]
    assert {step.verb for step in plan(Aws(endpoint_url=account), Wanted("small", artifact)).steps} != {KEEP}
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(DeployError, match="there are no AWS credentials: aws configure"):
        plan(Aws(endpoint_url=account), Wanted("small", artifact))
