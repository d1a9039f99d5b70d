"""What is kept ready changes by itself: a target with bounds, a policy that follows use, times with others."""

import hashlib
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class Scaling:
    #: what has to go before the number that is kept ready is set, and what comes after it
    ended: list[Step] = field(default_factory=list)
    made: list[Step] = field(default_factory=list)
    #: the bounds that are there and stay; None where others come
    held: Range | None = None


def plan(aws: Aws, wanted: Wanted, there: bool) -> Scaling:
    """Reads only."""
    named, wants = resource(wanted.name), bounds(wanted)
    if aws.local:
        return Scaling()
    if not wants:
        return Scaling(ended(aws, wanted.name) if there else [])
    found = _read(aws, named) if there else None
    asked = {"ServiceNamespace": "lambda", "ResourceId": named["ResourceId"]}
    actions = aws.call(_SERVICE, "describe_scheduled_actions", **asked)["ScheduledActions"] if found else []
    now = Range(found["MinCapacity"], found["MaxCapacity"]) if found else None
    # A schedule that was there may have come, and moved the bounds; one that is new has not.
    held = now if now in (wants[0], *map(_bounds_of, actions)) else None
    made = [_target(aws, named, wants[0], now, held)]
    made += _policy(aws, wanted, named, found is not None) + _schedules(aws, wanted, named, actions)
    return Scaling([], made, held)


def ended(aws: Aws, name: str) -> list[Step]:
    """Nothing scales any more."""
    named = resource(name)
    if aws.local or _read(aws, named) is None:
        return []
    act = lambda: aws.drop(_SERVICE, "deregister_scalable_target", **named)  # noqa: E731
    return [Step(DELETE, "scaling", "with its policies and schedules", act)]


def _read(aws: Aws, named: dict[str, str]) -> dict[str, Any] | None:
    asked = {"ServiceNamespace": "lambda", "ResourceIds": [named["ResourceId"]]}
    found = aws.call(_SERVICE, "describe_scalable_targets", **asked)["ScalableTargets"]
    return found[0] if found else None


def _target(aws: Aws, named: dict[str, str], usual: Range, now: Range | None, held: Range | None) -> Step:
    words = f"{usual.least} to {usual.most} kept ready"
    if held is not None:
        return keep("scaling", words if held == usual else f"{held.least} to {held.most}, by the clock")

    def act() -> None:
        bounds = {"MinCapacity": usual.least, "MaxCapacity": usual.most}
        aws.call(_SERVICE, "register_scalable_target", **named, **bounds)

    return Step(CREATE if now is None else CHANGE, "scaling", words, act)


def _bounds_of(action: dict[str, Any]) -> Range:
    moves = action.get("ScalableTargetAction") or {}
    return Range(int(moves.get("MinCapacity", -1)), int(moves.get("MaxCapacity", -1)))


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


def _schedules(aws: Aws, wanted: Wanted, named: dict[str, str], found: list[dict[str, Any]]) -> list[Step]:
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
    have = (_bounds_of(before), before["Schedule"], before.get("Timezone") or "UTC")
    return have == (schedule.range, schedule.when, schedule.zone)


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
