"""The function's role: Lambda may take it, and it may write the function's own log. Nothing else."""

import hashlib
import json
from typing import Any

from coldpress.deploy.aws import Aws
from coldpress.deploy.steps import CHANGE, CREATE, Facts, Step, different, keep
from coldpress.deploy.wanted import Wanted

POLICY = "coldpress-log"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    ],
}


_LONGEST = 64
MADE = "What the function {name} may do: write its log."


def role_name(name: str, region: str) -> str:
    """Roles are the whole account's, functions a region's: both are in it, and what does not fit is a hash."""
    whole = f"coldpress-{name}-{region}"
    if len(whole) <= _LONGEST:
        return whole
    mark = hashlib.sha256(whole.encode()).hexdigest()[:8]
    return f"{whole[: _LONGEST - len(region) - len(mark) - 2]}-{mark}-{region}"


def is_ours(role: dict[str, Any]) -> bool:
    """Whether it was made here."""
    begin, end = MADE.split("{name}")
    said = str(role.get("Description", ""))
    return said.startswith(begin) and said.endswith(end)


def log_group(wanted: Wanted) -> str:
    return f"/aws/lambda/{wanted.name}"


def policy(aws: Aws, wanted: Wanted) -> dict[str, Any]:
    """The group is made beforehand, so the function need not be able to."""
    group = f"arn:{aws.partition}:logs:{aws.region}:{aws.account}:log-group:{log_group(wanted)}:*"
    actions = ["logs:CreateLogStream", "logs:PutLogEvents"]
    return {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": actions, "Resource": group}],
    }


def steps(aws: Aws, wanted: Wanted, facts: Facts) -> list[Step]:
    if aws.local:
        facts.role = f"arn:aws:iam::{aws.account}:role/local"
        return []
    if wanted.role:
        facts.role = wanted.role
        return [keep("role", wanted.role)]
    name, wants = role_name(wanted.name, aws.region), policy(aws, wanted)
    what, document = f"role {name}", json.dumps(wants)
    found = aws.find("iam", "get_role", RoleName=name)

    def allow() -> None:
        aws.call("iam", "put_role_policy", RoleName=name, PolicyName=POLICY, PolicyDocument=document)

    def create() -> None:
        made = aws.call(
            "iam",
            "create_role",
            RoleName=name,
            AssumeRolePolicyDocument=json.dumps(TRUST),
            Description=MADE.format(name=wanted.name),
            Tags=[{"Key": key, "Value": value} for key, value in wanted.tags.items()],
        )
        facts.role = made["Role"]["Arn"]
        allow()

    if found is None:
        facts.role_is_new = True
        facts.role = f"arn:{aws.partition}:iam::{aws.account}:role/{name}"
        return [Step(CREATE, what, "may write its own log, and nothing else", create)]
    facts.role = found["Role"]["Arn"]
    has = aws.find("iam", "get_role_policy", RoleName=name, PolicyName=POLICY)
    if has is None or different(_parsed(has["PolicyDocument"]), wants):
        return [Step(CHANGE, what, "may write its own log, and nothing else", allow)]
    return [keep(what)]


def _parsed(document: Any) -> dict[str, Any]:
    """boto3 gives it parsed; others may not."""
    found: dict[str, Any] = json.loads(document) if isinstance(document, str) else document
    return found
