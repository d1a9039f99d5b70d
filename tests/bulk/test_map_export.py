"""What is exported for bulk is what `coldpress map` makes, so that it finds it and leaves it alone."""

import json
from pathlib import Path
from typing import Any

import hcl2
import pytest
from deploy_account import connect
from export_cases import ACCOUNT, REGION, text, wanted
from export_templates import parsed, resources

from coldpress.bulk import grants, machine
from coldpress.bulk.places import Bucketed, Places
from coldpress.errors import UsageError

ARN = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:small:live"
TO = Bucketed("answers", "2026")


def made(folder: Path, case: str) -> dict[str, dict[str, Any]]:
    found = resources(parsed(text("cloudformation", wanted(folder, case), "template.yaml")))
    return {key: one["Properties"] for key, one in found.items()}


def test_a_template_has_the_same_machine(tmp_path: Path) -> None:
    found = made(tmp_path, "mapped")
    assert json.loads(found["Map"]["DefinitionString"]) == machine.definition(ARN)
    assert found["Map"]["StateMachineName"] == "coldpress-map-small"
    assert found["Map"]["RoleArn"] == f"arn:aws:iam::{ACCOUNT}:role/coldpress-small.map-{REGION}"
    assert found["MapRole"]["AssumeRolePolicyDocument"] == machine.TRUST
    assert found["MapAccess"]["RoleName"] == f"coldpress-small-{REGION}"
    asked = machine.function_policy("aws", "texts", "2026/", TO)
    assert found["MapAccess"]["PolicyDocument"] == asked


def test_map_finds_all_of_it(account: str, tmp_path: Path) -> None:
    """In an account that has what the template says, nothing is left to be made or allowed."""
    found = made(tmp_path, "mapped")
    aws = connect(account)
    for key, more in (("Role", [found["MapAccess"]]), ("MapRole", [])):
        has = found[key]
        trust = json.dumps(has["AssumeRolePolicyDocument"])
        aws.call("iam", "create_role", RoleName=has["RoleName"], AssumeRolePolicyDocument=trust)
        for one in [*has["Policies"], *more]:
            document = json.dumps(one["PolicyDocument"])
            said = {"PolicyName": one["PolicyName"], "PolicyDocument": document}
            aws.call("iam", "put_role_policy", RoleName=has["RoleName"], **said)
    has = found["Map"]
    said = {"name": has["StateMachineName"], "type": has["StateMachineType"], "roleArn": has["RoleArn"]}
    aws.call("stepfunctions", "create_state_machine", definition=has["DefinitionString"], **said)
    before = len(aws.writes)
    _, role = grants.make_machine(aws, "small", ARN)
    assert not grants.grant(aws, role, "any", machine.stretches_policy("aws", TO))
    asked = machine.function_policy("aws", "texts", "2026/", TO)
    assert not grants.grant(aws, f"coldpress-small-{REGION}", "any", asked)
    assert len(aws.writes) == before
    wider = machine.function_policy("aws", "texts", "", TO)
    assert grants.grant(aws, f"coldpress-small-{REGION}", "any", wider)


def test_terraform(tmp_path: Path) -> None:
    main = text("terraform", wanted(tmp_path, "mapped"), "main.tf")
    blocks = [(kind, label) for one in hcl2.loads(main)["resource"] for kind in one for label in one[kind]]
    names = [(kind.strip('"'), label.strip('"')) for kind, label in blocks]
    assert ("aws_sfn_state_machine", "map") in names and ("aws_iam_role_policy", "map_access") in names
    assert ("aws_iam_role", "map_role") in names and "aws_cloudwatch_log_group.log.arn)[4]" in main
    assert '"$$.Execution.Input.bucket"' in main.replace("$$$$", "$$")


def test_a_role_that_somebody_gave_is_told_what_it_needs(tmp_path: Path) -> None:
    found = made(tmp_path, "mapped_by_theirs")
    assert "MapAccess" not in found and "MapRole" in found
    told = text("cloudformation", wanted(tmp_path, "mapped_by_theirs"), "README.md")
    assert "has to allow `s3:GetObject` on `s3://texts/*`" in told
    assert "coldpress map s3://texts/ --to s3://texts/done/ --name small" in told


def test_both_places_have_to_be_said() -> None:
    assert Places.parse(None, None) is None
    with pytest.raises(UsageError, match="belong together"):
        Places.parse("s3://texts/", None)
