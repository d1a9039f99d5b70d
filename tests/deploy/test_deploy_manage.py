"""Going back, taking away: against moto."""

from pathlib import Path

import pytest
from deploy_account import connect, deploy, pressed

from coldpress.deploy.manage import delete, prune, rollback, status
from coldpress.deploy.wanted import Wanted
from coldpress.errors import DeployError, UsageError


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
    assert [step.what for step in steps.steps][-3:] == [
        "log /aws/lambda/small",
        "role coldpress-small",
        "function small",
    ]
    steps.run()
    assert aws.find("iam", "get_role", RoleName="coldpress-small") is None
    assert aws.call("logs", "describe_log_groups")["logGroups"] == []
    with pytest.raises(DeployError, match="there is no function small in eu-west-1"):
        status(aws, "small")


def test_a_role_of_somebody_elses_stays(account: str, tmp_path: Path) -> None:
    aws = connect(account)
    trust = '{"Version": "2012-10-17", "Statement": []}'
    role = aws.call("iam", "create_role", RoleName="theirs", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    deploy(account, Wanted("small", pressed(tmp_path / "out", b"one"), role=role))
    delete(aws, "small").run()
    assert aws.find("iam", "get_role", RoleName="theirs") is not None
