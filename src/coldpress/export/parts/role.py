"""The log group, and the role that may write to it and do nothing else."""

from typing import Any

from coldpress.deploy.aws import Aws
from coldpress.deploy.parts import role
from coldpress.deploy.wanted import RETENTIONS, Wanted
from coldpress.export.stack import (
    Joined,
    Of,
    Param,
    Parameter,
    Part,
    Region,
    Resource,
    leaves,
    present,
    replaced,
    tags,
)

LOG, ROLE = "Log", "Role"
_LONGEST_REGION = "ap-southeast-1"


class _Anywhere(Aws):
    """What is known when somebody deploys; no name has such letters."""

    partition, region, account = "{partition}", "{region}", "{account}"


def part(wanted: Wanted) -> Part:
    retention = Parameter(
        "LogRetention",
        "Days that the log is kept.",
        wanted.retention_days,
        number=True,
        allowed=RETENTIONS,
    )
    return Part((_log(wanted), *([] if wanted.role else [_role(wanted)])), (retention,))


def role_of(wanted: Wanted) -> Any:
    """How the function names its role."""
    return wanted.role or Of(ROLE)


def _log(wanted: Wanted) -> Resource:
    properties = {
        "LogGroupName": role.log_group(wanted),
        "RetentionInDays": Param("LogRetention"),
        "Tags": tags(wanted.tags or {"made-by": "coldpress"}),
    }
    return Resource(
        LOG,
        "AWS::Logs::LogGroup",
        properties,
        "Made before the function, which would make one that keeps its lines for ever.",
    )


def _role_name(wanted: Wanted) -> Joined:
    """As deploy calls it; where that is cut for the longest of AWS's regions, it is cut for all of them."""
    return Joined((role.role_name(wanted.name, _LONGEST_REGION).removesuffix(_LONGEST_REGION), Region()))


def _role(wanted: Wanted) -> Resource:
    group = "arn:{partition}:logs:{region}:{account}:log-group:" + f"{role.log_group(wanted)}:*"
    document = replaced(role.policy(_Anywhere(), wanted), lambda one: Of(LOG) if one == group else one)
    assert not any("{" in one for one in leaves(document) if isinstance(one, str))
    properties = {
        "RoleName": _role_name(wanted),
        "Description": role.MADE.format(name=wanted.name),
        "AssumeRolePolicyDocument": role.TRUST,
        "Policies": [{"PolicyName": role.POLICY, "PolicyDocument": document}],
        "Tags": tags(wanted.tags),
    }
    return Resource(ROLE, "AWS::IAM::Role", present(properties), "May write the function's own log. Nothing else.")
