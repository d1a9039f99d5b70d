"""What is kept ready changes by itself: a target with bounds, a policy that follows use, times with others."""

import hashlib
from typing import Any

from coldpress.deploy.aws import Aws
from coldpress.deploy.scaling import Range, Schedule
from coldpress.deploy.steps import CHANGE, CREATE, DELETE, Step, keep
from coldpress.deploy.wanted import ALIAS, Wanted

POLICY = "coldpress-use"
METRIC = "LambdaProvisionedConcurrencyUtilization"
DIMENSION = "lambda:function:ProvisionedConcurrency"
_OURS = "coldpress-"
_SERVICE = "application-autoscaling"


def resource(name: str) -> dict[str, str]:
    return {
        "ServiceNamespace": "lambda",
        "ResourceId": f"function:{name}:{ALIAS}",
        "ScalableDimension": DIMENSION,
    }


def bounds(wanted: Wanted) -> list[Range]:
    """The usual ones first, then those that the clock brings; none where nothing scales."""
    if wanted.autoscale:
        usual = wanted.autoscale.range
    elif wanted.schedules:
        usual = Range(wanted.provisioned, wanted.provisioned)
    else:
        return []
    return [usual, *(one.range for one in wanted.schedules)]


def schedule_name(schedule: Schedule) -> str:
    return _OURS + hashlib.sha256(f"{schedule.when} {schedule.zone}".encode()).hexdigest()[:12]


def steps(aws: Aws, wanted: Wanted, there: bool) -> tuple[list[Step], list[Step]]:
    """What has to go before the number that is kept ready is set, and what comes after it."""
    if aws.local:
        return [], []
    named, wants = resource(wanted.name), bounds(wanted)
    if not wants:
        return ended(aws, wanted.name) if there else [], []
    found = _read(aws, named) if there else None
    made = [_target(aws, named, wants, found)]
    made += _policy(aws, wanted, named, found is not None)
    made += _schedules(aws, wanted, named, found is not None)
    return [], made


def ended(aws: Aws, name: str) -> list[Step]:
    """Nothing scales any more."""
    named = resource(name)
    if aws.local or _read(aws, named) is None:
        return []
    act = lambda: aws.call(_SERVICE, "deregister_scalable_target", **named)  # noqa: E731
    return [Step(DELETE, "scaling", "with its policies and schedules", act)]


def _read(aws: Aws, named: dict[str, str]) -> dict[str, Any] | None:
    asked = {"ServiceNamespace": "lambda", "ResourceIds": [named["ResourceId"]]}
    found = aws.call(_SERVICE, "describe_scalable_targets", **asked)["ScalableTargets"]
    return found[0] if found else None


def _target(aws: Aws, named: dict[str, str], wants: list[Range], found: dict[str, Any] | None) -> Step:
    usual = wants[0]
    words = f"{usual.least} to {usual.most} kept ready"
    if found is not None and Range(found["MinCapacity"], found["MaxCapacity"]) in wants:
        return keep("scaling", words)  # a schedule may have come meanwhile

    def act() -> None:
        aws.call(_SERVICE, "register_scalable_target", **named, MinCapacity=usual.least, MaxCapacity=usual.most)

    return Step(CREATE if found is None else CHANGE, "scaling", words, act)


def _policy(aws: Aws, wanted: Wanted, named: dict[str, str], there: bool) -> list[Step]:
    asked = {"ServiceNamespace": "lambda", "ResourceId": named["ResourceId"]}
    found = aws.call(_SERVICE, "describe_scaling_policies", **asked)["ScalingPolicies"] if there else []
    ours = next((one for one in found if one["PolicyName"] == POLICY), None)
    if wanted.autoscale is None:
        gone = lambda: aws.call(_SERVICE, "delete_scaling_policy", **named, PolicyName=POLICY)  # noqa: E731
        return [Step(DELETE, "scaling by use", "", gone)] if ours else []
    follows = tracking(wanted.autoscale.target)
    words = f"{wanted.autoscale.target:.0%} of them busy"
    have = (ours or {}).get("TargetTrackingScalingPolicyConfiguration") or {}
    if {name: have.get(name) for name in follows} == follows:
        return [keep("scaling by use", words)]

    def act() -> None:
        aws.call(
            _SERVICE,
            "put_scaling_policy",
            **named,
            PolicyName=POLICY,
            PolicyType="TargetTrackingScaling",
            TargetTrackingScalingPolicyConfiguration=follows,
        )

    return [Step(CHANGE if ours else CREATE, "scaling by use", words, act)]


def tracking(target: float) -> dict[str, Any]:
    return {"TargetValue": target, "PredefinedMetricSpecification": {"PredefinedMetricType": METRIC}}


def _schedules(aws: Aws, wanted: Wanted, named: dict[str, str], there: bool) -> list[Step]:
    asked = {"ServiceNamespace": "lambda", "ResourceId": named["ResourceId"]}
    found = aws.call(_SERVICE, "describe_scheduled_actions", **asked)["ScheduledActions"] if there else []
    have = {one["ScheduledActionName"]: one for one in found}
    wants = {schedule_name(schedule): schedule for schedule in wanted.schedules}
    made = []
    for name, schedule in wants.items():
        before = have.get(name)
        if before is not None and _same(before, schedule):
            made.append(keep("schedule", str(schedule)))
        else:
            made.append(Step(CHANGE if before else CREATE, "schedule", str(schedule), _put(aws, named, schedule)))
    for name in have:
        if name.startswith(_OURS) and name not in wants:
            made.append(Step(DELETE, "schedule", str(have[name]["Schedule"]), _drop(aws, named, name)))
    return made


def _same(before: dict[str, Any], schedule: Schedule) -> bool:
    moves = before.get("ScalableTargetAction") or {}
    zone = before.get("Timezone") or "UTC"
    return (moves.get("MinCapacity"), moves.get("MaxCapacity"), before["Schedule"], zone) == (
        schedule.range.least,
        schedule.range.most,
        schedule.when,
        schedule.zone,
    )


def _put(aws: Aws, named: dict[str, str], schedule: Schedule) -> Any:
    moves = {"MinCapacity": schedule.range.least, "MaxCapacity": schedule.range.most}
    return lambda: aws.call(
        _SERVICE,
        "put_scheduled_action",
        **named,
        ScheduledActionName=schedule_name(schedule),
        Schedule=schedule.when,
        Timezone=schedule.zone,
        ScalableTargetAction=moves,
    )


def _drop(aws: Aws, named: dict[str, str], name: str) -> Any:
    return lambda: aws.call(_SERVICE, "delete_scheduled_action", **named, ScheduledActionName=name)
