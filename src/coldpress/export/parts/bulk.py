"""The state machine that `coldpress map` starts, as it makes it, and what it and the function need of buckets."""

from typing import Any

from coldpress.bulk import machine
from coldpress.bulk.places import Pattern, Places
from coldpress.deploy.wanted import Wanted
from coldpress.export.parts.function import LIVE
from coldpress.export.parts.role import ROLE, role_name
from coldpress.export.stack import (
    Account,
    Joined,
    Json,
    Of,
    Output,
    Part,
    Partition,
    Region,
    Resource,
    present,
    tags,
)

MACHINE, MACHINE_ROLE, ACCESS = "Map", "MapRole", "MapAccess"
_HERE = (Partition(), Region(), Account())
_NOTE = """Answer files of JSON Lines with:

```sh
coldpress map {source} --to {to} --name {name}
```

It finds the state machine, and that both roles may read and write there. Whoever runs it needs `s3:ListBucket` on
both buckets, `s3:GetObject` and `s3:PutObject` below `{to}.coldpress/`, `lambda:InvokeFunction` and
`lambda:GetFunctionConfiguration` on the function, `iam:GetRole`, `iam:ListRolePolicies` and `iam:GetRolePolicy` on
the roles, and of Step Functions `StartExecution`, `StopExecution`, `ListExecutions`, `DescribeStateMachine`,
`DescribeExecution`, `ListMapRuns` and `DescribeMapRun`.{theirs}"""
_THEIRS = """

The function's role was made elsewhere, and has to allow `s3:GetObject` on `{source}*` and `s3:PutObject` on
`{to}*`."""


def part(wanted: Wanted) -> Part:
    if wanted.bulk is None:
        return Part()
    access = () if wanted.role else (_access(wanted.bulk),)
    arn = Output("MapArn", "The state machine that coldpress map starts.", Of(MACHINE))
    places = {"source": str(wanted.bulk.source), "to": f"s3://{wanted.bulk.to.bucket}/{wanted.bulk.to.below}"}
    theirs = _THEIRS.format(**places) if wanted.role else ""
    note = ("Bulk", _NOTE.format(name=wanted.name, theirs=theirs, **places))
    return Part((_role(wanted, wanted.bulk), _machine(wanted), *access), outputs=(arn,), notes=(note,))


def _function_arn(wanted: Wanted) -> Any:
    return machine.function_arn(*_HERE, wanted.name, Joined)


def _role(wanted: Wanted, places: Places) -> Resource:
    own, executions = machine.machine_arns(*_HERE, wanted.name, Joined)
    allowed = machine.run_policy(_function_arn(wanted), own, executions)
    objects = machine.stretches_policy(Partition(), places.to, Joined)
    document = {**allowed, "Statement": allowed["Statement"] + objects["Statement"]}
    properties = {
        "RoleName": role_name(machine.role_for(wanted.name)),
        "Description": machine.MADE.format(name=machine.machine_name(wanted.name)),
        "AssumeRolePolicyDocument": machine.TRUST,
        "Policies": [{"PolicyName": machine.POLICY, "PolicyDocument": document}],
        "Tags": tags(wanted.tags),
    }
    says = "May ask the function, and read and write what a job keeps for itself. Nothing else."
    return Resource(MACHINE_ROLE, "AWS::IAM::Role", present(properties), says)


def _machine(wanted: Wanted) -> Resource:
    properties = {
        "StateMachineName": machine.machine_name(wanted.name),
        "StateMachineType": "STANDARD",
        "RoleArn": Of(MACHINE_ROLE),
        "DefinitionString": Json(machine.definition(_function_arn(wanted), Partition(), Joined)),
        "Tags": tags(wanted.tags or {"made-by": "coldpress"}),
    }
    says = "Asks the alias for every stretch of a job's files, many at once."
    return Resource(MACHINE, "AWS::StepFunctions::StateMachine", properties, says, after=(LIVE,))


def _access(places: Places) -> Resource:
    bucket, base = places.source.bucket, Pattern.parse(places.source.key).base
    properties = {
        "RoleName": Of(ROLE, "Name"),
        "PolicyName": machine.POLICY,
        "PolicyDocument": machine.function_policy(Partition(), bucket, base, places.to, Joined),
    }
    says = "Lets the function read what jobs are about, and write its answers."
    return Resource(ACCESS, "AWS::IAM::RolePolicy", properties, says)
