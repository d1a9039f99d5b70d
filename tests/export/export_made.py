"""What comes to be in an account, in one form for all: by deploy's calls, by templates, by Terraform's plan."""

import json
from typing import Any

import pytest
from export_cases import ACCOUNT, REGION, SAID

from coldpress.deploy import plan as planning
from coldpress.deploy.aws import Aws
from coldpress.deploy.parts import image
from coldpress.deploy.wanted import Wanted

Made = dict[str, Any]
#: what CreateFunction takes, with what AWS takes for it where nothing is said
_FUNCTION: dict[str, Any] = {
    "FunctionName": None,
    "PackageType": "Zip",
    "Role": None,
    "Runtime": None,
    "Handler": None,
    "Description": "",
    "MemorySize": 128,
    "Timeout": 3,
    "Architectures": ["x86_64"],
    "Environment": {"Variables": {}},
    "EphemeralStorage": {"Size": 512},
    "SnapStart": {"ApplyOn": "None"},
    "LoggingConfig": {"LogFormat": "Text"},
    "Tags": {},
}


def function(has: dict[str, Any]) -> Made:
    found = {name: has.get(name, usual) for name, usual in _FUNCTION.items()}
    found["image"] = has["Code"].get("ImageUri", "").partition("@")[2]
    return found


def door(has: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(has.get(name) for name in ("Action", "Principal", "FunctionUrlAuthType", "InvokedViaFunctionUrl"))


def mapping(has: dict[str, Any]) -> tuple[Any, ...]:
    """Of a queue to the alias."""
    names = ("EventSourceArn", "BatchSize", "FunctionResponseTypes")
    whole = [*(has[name] for name in names), has.get("MaximumBatchingWindowInSeconds", 0)]
    return (*whole, has["FunctionName"].rpartition(":")[2], has["Tags"])


def untagged(listed: Any) -> dict[str, str]:
    return {one["Key"]: one["Value"] for one in listed or []}


class _Recorder(Aws):
    """An empty account: nothing is there, and every call is kept with what it says."""

    partition, region, account = "aws", REGION, ACCOUNT

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[str, list[dict[str, Any]]] = {}

    def call(self, service: str, operation: str, **said: Any) -> Any:
        self.made.setdefault(operation, []).append(said)
        if operation == "describe_log_groups":
            return {"logGroups": []}
        if operation == "get_queue_attributes":
            return {"Attributes": {"VisibilityTimeout": "180"}}
        if operation == "get_provisioned_concurrency_config":
            return {"Status": "READY"}
        role = f"arn:aws:iam::{ACCOUNT}:role/{said.get('RoleName')}"
        return {"Role": {"Arn": role}, "Version": "1", "FunctionUrl": "https://…"}

    def find(self, service: str, operation: str, **said: Any) -> Any | None:
        return self.call(service, operation, **said) if service == "sqs" else None

    def wait(self, service: str, waiter: str, **said: Any) -> None:
        pass


def by_deploy(wanted: Wanted, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Of the calls that `coldpress deploy` makes. Images are not sent, and the token's hash is the one we say."""
    with monkeypatch.context() as patch:
        patch.setattr(image, "package", lambda *_: _Image())
        patch.setattr(planning, "_token", lambda wish, *_: SAID["TokenSha256"] if wish.url == "token" else None)
        aws = _Recorder()
        planning.plan(aws, wanted).run()
    made = aws.made
    (log,) = made["create_log_group"]
    role = made.get("create_role")
    scaled = made.get("register_scalable_target")
    return {
        "log": [log["logGroupName"], made["put_retention_policy"][0]["retentionInDays"], log["tags"]],
        "role": {
            "name": role[0]["RoleName"],
            "description": role[0]["Description"],
            "trust": json.loads(role[0]["AssumeRolePolicyDocument"]),
            "policies": {one["PolicyName"]: json.loads(one["PolicyDocument"]) for one in made["put_role_policy"]},
            "tags": untagged(role[0]["Tags"]),
        }
        if role
        else None,
        "function": function(made["create_function"][0]),
        "at_once": made.get("put_function_concurrency", [{}])[0].get("ReservedConcurrentExecutions"),
        "alias": [one["Name"] for one in made["create_alias"]],
        "ready": made.get("put_provisioned_concurrency_config", [{}])[0].get("ProvisionedConcurrentExecutions"),
        "url": [(one["Qualifier"], one["AuthType"]) for one in made.get("create_function_url_config", [])],
        "doors": sorted(map(door, made.get("add_permission", []))),
        "target": scaled[0] if scaled else None,
        "policy": [
            [one["PolicyName"], one["PolicyType"], one["TargetTrackingScalingPolicyConfiguration"]]
            for one in made.get("put_scaling_policy", [])
        ],
        "schedules": sorted(map(schedule, made.get("put_scheduled_action", []))),
        "queues": sorted(map(mapping, made.get("create_event_source_mapping", []))),
    }


class _Image:
    """In the place of one that is pushed."""

    code, megabytes = "code", 1.0

    def steps(self) -> list[Any]:
        return []

    def named(self) -> dict[str, str]:
        return {"ImageUri": SAID["ImageUri"]}


def schedule(has: dict[str, Any]) -> tuple[Any, ...]:
    moves = has["ScalableTargetAction"]
    return (
        has["ScheduledActionName"],
        has["Schedule"],
        has["Timezone"],
        moves["MinCapacity"],
        moves["MaxCapacity"],
    )


def by_template(resources: dict[str, dict[str, Any]]) -> Made:
    """Of a template's resources; each is there once, but for permissions."""

    def all_of(kind: str) -> list[dict[str, Any]]:
        return [one["Properties"] for one in resources.values() if one["Type"] == f"AWS::{kind}"]

    (log,), (has,), (version,), (alias,) = map(
        all_of, ("Logs::LogGroup", "Lambda::Function", "Lambda::Version", "Lambda::Alias")
    )
    role = [one for one in all_of("IAM::Role") if "lambda" in json.dumps(one["AssumeRolePolicyDocument"])]
    target = all_of("ApplicationAutoScaling::ScalableTarget")
    live = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:small:live"
    assert version["FunctionName"] == alias["FunctionName"] == "small"
    assert alias["FunctionVersion"] == "the version"
    assert all(one["FunctionName"] == live for one in all_of("Lambda::Permission"))
    return {
        "log": [log["LogGroupName"], log["RetentionInDays"], untagged(log.get("Tags"))],
        "role": {
            "name": role[0]["RoleName"],
            "description": role[0]["Description"],
            "trust": role[0]["AssumeRolePolicyDocument"],
            "policies": {one["PolicyName"]: one["PolicyDocument"] for one in role[0]["Policies"]},
            "tags": untagged(role[0].get("Tags")),
        }
        if role
        else None,
        "function": function({**has, "Tags": untagged(has.get("Tags"))}),
        "at_once": has.get("ReservedConcurrentExecutions"),
        "alias": [alias["Name"]],
        "ready": alias.get("ProvisionedConcurrencyConfig", {}).get("ProvisionedConcurrentExecutions"),
        "url": [
            (one["TargetFunctionArn"].removeprefix(live.removesuffix("live")), one["AuthType"])
            for one in all_of("Lambda::Url")
        ],
        "doors": sorted(map(door, all_of("Lambda::Permission"))),
        "target": {name: value for name, value in target[0].items() if name != "ScheduledActions"}
        if target
        else None,
        "policy": [
            [one["PolicyName"], one["PolicyType"], one["TargetTrackingScalingPolicyConfiguration"]]
            for one in all_of("ApplicationAutoScaling::ScalingPolicy")
        ],
        "schedules": sorted(schedule(one) for has in target for one in has.get("ScheduledActions", [])),
        "queues": sorted(
            mapping({**one, "Tags": untagged(one["Tags"])}) for one in all_of("Lambda::EventSourceMapping")
        ),
    }


def watching(resources: dict[str, dict[str, Any]]) -> Made:
    """What a template has beyond deploy: the dashboard, and the alarms by their names."""

    def all_of(kind: str) -> list[dict[str, Any]]:
        return [one["Properties"] for one in resources.values() if one["Type"] == f"AWS::CloudWatch::{kind}"]

    (board,) = all_of("Dashboard")
    return {
        "name": board["DashboardName"],
        "body": json.loads(board["DashboardBody"]),
        "alarms": {one["AlarmName"]: {**one, "Tags": untagged(one.get("Tags"))} for one in all_of("Alarm")},
    }
