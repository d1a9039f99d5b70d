"""How many sandboxes are kept ready: a number, or bounds that use and the clock move it between."""

from typing import Any

from coldpress.deploy.parts.scaling import POLICY, bounds, resource, schedule_name, tracking
from coldpress.deploy.scaling import Range
from coldpress.deploy.wanted import Wanted
from coldpress.export.stack import Of, Param, Parameter, Part, Resource, present

READY = "Ready"
_LEAST, _MOST, _TARGET, _FIXED = "ScaleMin", "ScaleMax", "ScaleTarget", "ProvisionedConcurrency"
#: of Application Auto Scaling, for Lambda
_LEAST_TARGET, _MOST_TARGET = 0.1, 0.9


def part(wanted: Wanted) -> Part:
    if wanted.autoscale:
        target = _target(wanted, Param(_LEAST), Param(_MOST))
        return Part((target, _by_use(wanted)), _bounded(wanted.autoscale.range, wanted.autoscale.target))
    if not wanted.provisioned:
        return Part()
    kept = Parameter(_FIXED, "Sandboxes kept ready.", wanted.provisioned, number=True, least=1)
    ready = Param(_FIXED)
    return Part((_target(wanted, ready, ready),) if wanted.schedules else (), (kept,))


def ready_at_first(wanted: Wanted) -> Param | None:
    """What the alias starts with: the least of them, since where none is ready there is no use to be followed."""
    if wanted.autoscale:
        return Param(_LEAST) if bounds(wanted)[0].least else None
    return Param(_FIXED) if wanted.provisioned else None


def _bounded(usual: Range, target: float) -> tuple[Parameter, ...]:
    least = 1 if usual.least else 0
    return (
        Parameter(_LEAST, "Sandboxes kept ready, at least.", usual.least, number=True, least=least),
        Parameter(_MOST, "Sandboxes kept ready, at most.", usual.most, number=True, least=1),
        Parameter(
            _TARGET,
            "The share of them that is to be busy.",
            target,
            number=True,
            least=_LEAST_TARGET,
            most=_MOST_TARGET,
        ),
    )


def _target(wanted: Wanted, least: Any, most: Any) -> Resource:
    properties = {
        **resource(wanted.name),
        "MinCapacity": least,
        "MaxCapacity": most,
        "ScheduledActions": [
            {
                "ScheduledActionName": schedule_name(schedule),
                "Schedule": schedule.when,
                "Timezone": schedule.zone,
                "ScalableTargetAction": {
                    "MinCapacity": schedule.range.least,
                    "MaxCapacity": schedule.range.most,
                },
            }
            for schedule in wanted.schedules
        ],
    }
    return Resource(
        READY,
        "AWS::ApplicationAutoScaling::ScalableTarget",
        present(properties),
        "The bounds of how many sandboxes are kept ready, and when they change.",
        after=("Live",),
    )


def _by_use(wanted: Wanted) -> Resource:
    assert wanted.autoscale is not None
    follows = {**tracking(wanted.autoscale.target), "TargetValue": Param(_TARGET)}
    properties = {
        "PolicyName": POLICY,
        "PolicyType": "TargetTrackingScaling",
        "ScalingTargetId": Of(READY, "Id"),
        "TargetTrackingScalingPolicyConfiguration": follows,
    }
    return Resource(
        "ReadyByUse",
        "AWS::ApplicationAutoScaling::ScalingPolicy",
        properties,
        "As many as keep this share of them busy.",
    )
