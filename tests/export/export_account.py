"""What is in moto's account afterwards, whoever made it."""

import ast
import json
from typing import Any

from deploy_account import connect

from coldpress.deploy.parts import role

_ROLE = role.role_name("small", "eu-west-1")
_LIVE = {"FunctionName": "small", "Qualifier": "live"}
#: what AWS makes up, or counts
_MADE_UP = ("ResponseMetadata", "LastModified", "RevisionId", "FunctionArn")
#: of a permission
_SAYS = ("Effect", "Principal", "Action", "FunctionUrlAuthType", "InvokedViaFunctionUrl")


def state(account: str) -> dict[str, Any]:
    aws = connect(account)
    running = aws.call("lambda", "get_function_configuration", **_LIVE)
    document = aws.find("lambda", "get_policy", **_LIVE)
    address = aws.find("lambda", "get_function_url_config", **_LIVE)
    group = aws.call("logs", "describe_log_groups")["logGroups"][0]
    return {
        "function": {name: value for name, value in running.items() if name not in _MADE_UP},
        "tags": aws.call("lambda", "get_function", FunctionName="small").get("Tags", {}),
        "doors": sorted(_door(one) for one in json.loads(document["Policy"])["Statement"]) if document else [],
        "url": address and address["AuthType"],
        "role": _role(aws),
        "log": (group["logGroupName"], group["retentionInDays"]),
        "at_once": aws.call("lambda", "get_function_concurrency", FunctionName="small").get(
            "ReservedConcurrentExecutions"
        ),
    }


def _door(statement: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(statement.get(name)) for name in _SAYS)


def _document(found: Any) -> dict[str, Any]:
    """What moto's CloudFormation made is Python, as a text."""
    document: dict[str, Any] = ast.literal_eval(found) if isinstance(found, str) else found
    return document


def _role(aws: Any) -> dict[str, Any] | None:
    found = aws.find("iam", "get_role", RoleName=_ROLE)
    if found is None:
        return None
    policies = aws.call("iam", "list_role_policies", RoleName=_ROLE)["PolicyNames"]
    allowed = aws.call("iam", "get_role_policy", RoleName=_ROLE, PolicyName=role.POLICY)
    return {
        "trust": found["Role"]["AssumeRolePolicyDocument"],
        "tags": {one["Key"]: one["Value"] for one in found["Role"].get("Tags", [])},
        "policies": policies,
        "allowed": _document(allowed["PolicyDocument"]),
        "description": found["Role"]["Description"],
    }
