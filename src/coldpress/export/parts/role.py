"""The log group, and the role that may write to it, do what events and their answers need, and nothing else."""

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
    Partition,
    Region,
    Resource,
    leaves,
    present,
    replaced,
    tags,
)

LOG, ROLE = "Log", "Role"
_LONGEST_REGION = "ap-southeast-1"


_OBJECTS = ":s3:::"


class _Anywhere(Aws):
    """What is known when somebody deploys; no name has such letters."""

    partition, region, account = "\x00partition", "\x00region", "\x00account"


def part(wanted: Wanted) -> Part:
    retention = Parameter(
        "LogRetention",
        "Days that the log is kept.",
        wanted.retention_days,
        number=True,
        allowed=RETENTIONS,
    )
    if not wanted.role:
        return Part((_log(wanted), _role(wanted)), (retention,))
    return Part((_log(wanted),), (retention,), notes=_asked_of_theirs(wanted))


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


def role_name(name: str) -> Joined:
    """As deploy calls it; where that is cut for the longest of AWS's regions, it is cut for all of them."""
    return Joined((role.role_name(name, _LONGEST_REGION).removesuffix(_LONGEST_REGION), Region()))


def _role(wanted: Wanted) -> Resource:
    document = replaced(role.policy(_Anywhere(), wanted), _known)
    assert not any("\x00" in one for one in leaves(document) if isinstance(one, str))
    properties = {
        "RoleName": role_name(wanted.name),
        "Description": role.described(wanted),
        "AssumeRolePolicyDocument": role.TRUST,
        "Policies": [{"PolicyName": role.POLICY, "PolicyDocument": document}],
        "Tags": tags(wanted.tags),
    }
    return Resource(ROLE, "AWS::IAM::Role", present(properties), role.described(wanted))


def _known(value: Any) -> Any:
    """An ARN of a place that is known only then: of the log, or of objects in a bucket."""
    if not isinstance(value, str) or not value.startswith(f"arn:{_Anywhere.partition}"):
        return value
    _, is_objects, path = value.partition(_OBJECTS)
    return Joined(("arn:", Partition(), f"{_OBJECTS}{path}")) if is_objects else Of(LOG)


def _asked_of_theirs(wanted: Wanted) -> tuple[tuple[str, str], ...]:
    needed = role.in_words(role.work(_Anywhere(), wanted))
    listed = "".join(f"- `{one}`\n".replace(_Anywhere.partition, "aws") for one in needed)
    return (("The role", f"It was made elsewhere, and has to allow:\n\n{listed.rstrip()}"),) if needed else ()
