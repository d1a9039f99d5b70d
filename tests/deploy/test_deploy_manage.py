"""Going back, taking away: against moto."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from deploy_account import Killed, Mortal, connect, deploy, pressed

from coldpress.deploy.aws import Aws
from coldpress.deploy.canary import weigh
from coldpress.deploy.manage import delete, prune, rollback, status
from coldpress.deploy.parts import code
from coldpress.deploy.parts.role import role_name
from coldpress.deploy.plan import plan
from coldpress.deploy.wanted import Wanted
from coldpress.errors import DeployError, MissingExtra, UsageError


@pytest.fixture
def four(account: str, tmp_path: Path) -> str:
    """A function with four versions, the last one live."""
    for number in range(4):
        deploy(account, Wanted("small", pressed(tmp_path / str(number), f"code {number}".encode())))
    return account


def test_status(four: str) -> None:
    found = status(connect(four), "small")
    assert (found.versions, found.live, found.weights) == (["1", "2", "3", "4"], "4", {})
    assert found.memory_mb == 1769 and found.auth == "AWS_IAM" and found.url is not None


def test_back_and_back_again(four: str) -> None:
    aws = connect(four)
    rollback(aws, "small").run()
    assert status(aws, "small").live == "3"
    rollback(aws, "small", "1").run()
    assert status(aws, "small").live == "1"
    with pytest.raises(DeployError, match="there is none before it"):
        rollback(aws, "small")
    with pytest.raises(UsageError, match="has no version 9; it has: 1, 2, 3, 4"):
        rollback(aws, "small", "9")
    assert rollback(aws, "small", "1").changes == []


def test_a_canary_is_gone_after_going_back(four: str) -> None:
    aws = connect(four)
    aws.call(
        "lambda",
        "update_alias",
        FunctionName="small",
        Name="live",
        FunctionVersion="3",
        RoutingConfig={"AdditionalVersionWeights": {"4": 0.1}},
    )
    assert status(aws, "small").weights == {"4": 0.1}
    rollback(aws, "small", "3").run()
    assert status(aws, "small").weights == {}


def test_old_versions_go_and_the_live_one_stays(four: str) -> None:
    aws = connect(four)
    rollback(aws, "small", "1").run()
    prune(aws, "small", keep=2).run()
    assert status(aws, "small").versions == ["1", "3", "4"]
    with pytest.raises(UsageError, match="--keep 0"):
        prune(aws, "small", keep=0)


def test_all_of_it_goes(four: str) -> None:
    aws = connect(four)
    steps = delete(aws, "small")
    assert [step.what for step in steps.steps][-2:] == [
        "log /aws/lambda/small",
        "role coldpress-small-eu-west-1",
    ]
    steps.run()
    assert aws.find("iam", "get_role", RoleName="coldpress-small-eu-west-1") is None
    assert aws.call("logs", "describe_log_groups")["logGroups"] == []
    with pytest.raises(DeployError, match="there is no function small in eu-west-1"):
        status(aws, "small")


def test_a_canary_ends_by_going_back(four: str) -> None:
    aws = connect(four)
    weigh(aws, "small", "1", {"4": 0.1})
    rollback(aws, "small").run()
    assert status(aws, "small").live == "1" and status(aws, "small").weights == {}


def test_nobody_goes_back_behind_an_open_door(account: str, tmp_path: Path) -> None:
    """A version that asks for no token must not be reached by a URL that everybody may call."""
    artifact = pressed(tmp_path / "out", b"one")
    deploy(account, Wanted("small", artifact, url="iam"))
    deploy(account, Wanted("small", artifact, url="token"))
    aws = connect(account)
    made = rollback(aws, "small")
    assert [step.what for step in made.steps] == [
        "URL",
        "permission coldpress-url",
        "permission coldpress-invoke",
        "alias live",
    ]
    made.run()
    assert status(aws, "small").auth == "AWS_IAM"
    policy = aws.find("lambda", "get_policy", FunctionName="small", Qualifier="live")
    assert "coldpress-url" not in str(policy)


@pytest.mark.parametrize("wanted", [{}, {"url": "token"}])
def test_deleting_is_killed_after_each_call_and_run_again(
    account: str, tmp_path: Path, wanted: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code, "DIRECT", 2)
    artifact = pressed(tmp_path / "out", b"code")
    for died in range(100):
        deploy(account, Wanted("small", artifact, **wanted))  # type: ignore[arg-type]
        mortal = connect(account, Mortal)
        assert isinstance(mortal, Mortal)
        mortal.left = died
        try:
            delete(mortal, "small").run()
            break
        except Killed:
            aws = connect(account)
            try:
                delete(aws, "small").run()
            except DeployError as error:  # it was killed after the last call
                assert "there is no function small" in str(error)
        for nothing in (
            aws.find("lambda", "get_function", FunctionName="small"),
            aws.find("iam", "get_role", RoleName="coldpress-small-eu-west-1"),
            aws.find("s3", "head_bucket", Bucket=code.bucket_name(aws)),
        ):
            assert nothing is None, f"killed after call {died + 1}: {mortal.calls[-1]}"
        assert aws.call("logs", "describe_log_groups")["logGroups"] == []
    assert died > 8


def test_what_a_dead_deployment_left_can_be_deleted(account: str, tmp_path: Path) -> None:
    aws = connect(account)
    for step in plan(aws, Wanted("small", pressed(tmp_path / "out", b"one"))).steps[:2]:
        assert step.act is not None
        step.act()
    delete(aws, "small").run()
    assert aws.find("iam", "get_role", RoleName="coldpress-small-eu-west-1") is None


def test_a_role_that_others_use_stays(account: str, tmp_path: Path) -> None:
    artifact = pressed(tmp_path / "out", b"one")
    deploy(account, Wanted("small", artifact))
    aws = connect(account)
    arn = aws.call("iam", "get_role", RoleName="coldpress-small-eu-west-1")["Role"]["Arn"]
    deploy(account, Wanted("other", artifact, role=arn))
    delete(aws, "small").run()
    assert aws.find("iam", "get_role", RoleName="coldpress-small-eu-west-1") is not None
    delete(aws, "other").run()
    assert aws.find("iam", "get_role", RoleName="coldpress-small-eu-west-1") is not None, "it is not other's own"


def test_roles_of_two_regions_and_of_long_names_are_two(account: str) -> None:
    names = [role_name(name, region) for name in ("a" * 60, "a" * 61) for region in ("eu-west-1", "us-east-1")]
    assert len(set(names)) == 4 and max(map(len, names)) <= 64


def test_what_somebody_else_made_is_left_alone(account: str, tmp_path: Path) -> None:
    artifact = pressed(tmp_path / "out", b"one")
    deploy(account, Wanted("small", artifact))
    aws = connect(account)
    aws.call("lambda", "update_function_configuration", FunctionName="small", Description="billing")
    with pytest.raises(DeployError, match=r"that coldpress did not make: .* --adopt"):
        deploy(account, Wanted("small", artifact))
    with pytest.raises(DeployError, match="was not made by coldpress"):
        delete(aws, "small")
    deploy(account, Wanted("small", artifact, adopt=True))
    with pytest.raises(UsageError, match="no ARN"):
        delete(aws, "arn:aws:lambda:eu-west-1:1:function:small")


def test_tags_come_later_too(account: str, tmp_path: Path) -> None:
    artifact = pressed(tmp_path / "out", b"one")
    deploy(account, Wanted("small", artifact))
    _, writes = deploy(account, Wanted("small", artifact, tags={"team": "search"}))
    assert writes == [("lambda", "tag_resource")]
    assert deploy(account, Wanted("small", artifact, tags={"team": "search"}))[1] == []


def test_a_role_of_somebody_elses_stays(account: str, tmp_path: Path) -> None:
    aws = connect(account)
    trust = '{"Version": "2012-10-17", "Statement": []}'
    role = aws.call("iam", "create_role", RoleName="theirs", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    deploy(account, Wanted("small", pressed(tmp_path / "out", b"one"), role=role))
    delete(aws, "small").run()
    assert aws.find("iam", "get_role", RoleName="theirs") is not None


@pytest.mark.parametrize("act", [status, rollback, delete])
def test_without_boto3_it_is_said_what_to_install(
    act: Callable[[Aws, str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("boto3", "botocore", "botocore.config", "botocore.exceptions"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"boto3, which is not installed: pip install 'coldpress\[aws\]'"):
        act(Aws(region="eu-west-1"), "small")
