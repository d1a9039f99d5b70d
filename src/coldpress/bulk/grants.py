"""What roles are allowed for as long as a job lasts, and the state machine with a role of its own."""

import json
from typing import Any

from coldpress.bulk import machine
from coldpress.deploy.aws import Aws
from coldpress.deploy.parts.role import is_ours, role_name
from coldpress.deploy.steps import DELETE, Step
from coldpress.errors import DeployError


def grant(aws: Aws, role: str, policy: str, document: dict[str, Any]) -> bool:
    """Whether it was not allowed before, by this policy or another one of the role's own."""
    has: list[Any] = []
    for name in aws.call("iam", "list_role_policies", RoleName=role)["PolicyNames"]:
        found = _parsed(aws.call("iam", "get_role_policy", RoleName=role, PolicyName=name)["PolicyDocument"])
        has += found["Statement"] if isinstance(found["Statement"], list) else [found["Statement"]]
    if all(one in has for one in document["Statement"]):
        return False
    text = json.dumps(document)
    aws.call("iam", "put_role_policy", RoleName=role, PolicyName=policy, PolicyDocument=text)
    return True


def take_back(aws: Aws, role: str, policy: str) -> None:
    aws.drop("iam", "delete_role_policy", RoleName=role, PolicyName=policy)


def own_role(aws: Aws, arn: str) -> str | None:
    """The name of a function's role, if it was made by deploy: a role that somebody gave is not touched."""
    name = arn.rpartition("/")[2]
    found = aws.find("iam", "get_role", RoleName=name)
    return name if found is not None and is_ours(found["Role"]) else None


def machine_role(aws: Aws, function: str) -> str:
    return role_name(machine.role_for(function), aws.region)


def make_machine(aws: Aws, function: str, function_arn: str) -> tuple[str, str]:
    """The machine's ARN and its role's name; both as they are wanted, whoever made them."""
    name = machine.machine_name(function)
    arn, executions = machine.machine_arns(aws.partition, aws.region, aws.account, function)
    role = machine_role(aws, function)
    role_arn = _make_role(aws, role, name)
    grant(aws, role, machine.POLICY, machine.run_policy(function_arn, arn, executions))
    wanted = machine.definition(function_arn, aws.partition)
    found = aws.find("stepfunctions", "describe_state_machine", stateMachineArn=arn)
    said = {"definition": json.dumps(wanted), "roleArn": role_arn}
    if found is None:
        tags = [{"key": "made-by", "value": "coldpress"}]
        aws.call("stepfunctions", "create_state_machine", name=name, type="STANDARD", tags=tags, **said)
    elif found["type"] != "STANDARD":
        raise DeployError(f"the state machine {name} was not made by coldpress: delete it, or rename it")
    elif json.loads(found["definition"]) != wanted or found["roleArn"] != role_arn:
        aws.call("stepfunctions", "update_state_machine", stateMachineArn=arn, **said)
    return arn, role


def ended(aws: Aws, function: str) -> list[Step]:
    """The machine and its role, where map made them: the role goes last, as it tells that there is more."""
    if aws.local:
        return []
    name, role = machine.machine_name(function), machine_role(aws, function)
    found = aws.find("iam", "get_role", RoleName=role)
    if found is None or found["Role"].get("Description") != machine.MADE.format(name=name):
        return []
    arn, _ = machine.machine_arns(aws.partition, aws.region, aws.account, function)

    def act() -> None:
        aws.drop("stepfunctions", "delete_state_machine", stateMachineArn=arn)
        for policy in aws.call("iam", "list_role_policies", RoleName=role)["PolicyNames"]:
            take_back(aws, role, policy)
        aws.drop("iam", "delete_role", RoleName=role)

    return [Step(DELETE, f"state machine {name}", "with its role", act)]


def _make_role(aws: Aws, role: str, name: str) -> str:
    found = aws.find("iam", "get_role", RoleName=role)
    if found is None:
        found = aws.call(
            "iam",
            "create_role",
            RoleName=role,
            AssumeRolePolicyDocument=json.dumps(machine.TRUST),
            Description=machine.MADE.format(name=name),
        )
    return str(found["Role"]["Arn"])


def _parsed(document: Any) -> Any:
    """boto3 gives it parsed; others may not."""
    return json.loads(document) if isinstance(document, str) else document
