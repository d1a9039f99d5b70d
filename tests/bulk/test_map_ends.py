"""A function that goes takes what `map` made for it along."""

import json
from pathlib import Path

import pytest
from deploy_account import Killed, Mortal, connect, deploy, pressed

from coldpress.bulk import grants, machine
from coldpress.deploy.manage import delete
from coldpress.deploy.wanted import Wanted
from coldpress.errors import DeployError

LIVE = "arn:aws:lambda:eu-west-1:123456789012:function:small:live"


@pytest.fixture
def made(account: str, tmp_path: Path) -> str:
    """A function with a machine, and a policy that a killed job left."""
    deploy(account, Wanted("small", pressed(tmp_path / "out", b"one")))
    aws = connect(account)
    grants.make_machine(aws, "small", LIVE)
    document = {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}],
    }
    named = {"RoleName": "coldpress-small-eu-west-1", "PolicyName": "coldpress-map-0123456789"}
    aws.call("iam", "put_role_policy", **named, PolicyDocument=json.dumps(document))
    return account


def left(account: str) -> tuple[list[str], list[str]]:
    aws = connect(account)
    roles = [one["RoleName"] for one in aws.call("iam", "list_roles")["Roles"]]
    machines = [one["name"] for one in aws.call("stepfunctions", "list_state_machines")["stateMachines"]]
    return sorted(one for one in roles if one.startswith("coldpress-")), machines


def test_all_of_it_goes(made: str) -> None:
    assert left(made) == (["coldpress-small-eu-west-1", "coldpress-small.map-eu-west-1"], ["coldpress-map-small"])
    delete(connect(made), "small").run()
    assert left(made) == ([], [])


def test_killed_after_each_call(made: str) -> None:
    for count in range(60):
        aws = connect(made, Mortal)
        assert isinstance(aws, Mortal)
        aws.left = count
        try:
            delete(aws, "small").run()
        except Killed:
            continue
        except DeployError as error:
            assert "there is no function small" in str(error)
        break
    assert left(made) == ([], [])


def test_another_machine_of_that_name_stays(made: str) -> None:
    aws = connect(made)
    aws.call("iam", "update_role", RoleName="coldpress-small.map-eu-west-1", Description="somebody else's")
    delete(aws, "small").run()
    assert left(made) == (["coldpress-small.map-eu-west-1"], [machine.machine_name("small")])
