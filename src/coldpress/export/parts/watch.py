"""A dashboard of the function, and two alarms: too many of its requests fail, or they take too long."""

from typing import Any

from coldpress.deploy.wanted import ALIAS, Wanted
from coldpress.deploy.watch import Watch, slow_ms
from coldpress.export.parts.watch_graphs import PERIOD, dashboard, of_alias
from coldpress.export.stack import Joined, Json, Param, Parameter, Part, Region, Resource, present, tags

DASHBOARD, FAILS, SLOW = "Dashboard", "AlarmErrors", "AlarmSlow"
#: what is said of the alarms when deploying
_SHARE, _LATENCY, _REQUESTS = "AlarmErrorPercent", "AlarmLatency", "AlarmRequests"
_USUAL_SHARE, _USUAL_REQUESTS = 5, 20
#: of so many periods, so many have to be bad
_PERIODS, _BAD = 3, 2


def part(wanted: Wanted) -> Part:
    if wanted.watch is None:
        return Part()
    fails = _alarm(
        wanted,
        wanted.watch,
        FAILS,
        f"{wanted.name}-errors",
        "More of its requests fail than may.",
        ("errors", "Errors", "Sum"),
        "100 * errors / requests",
        Param(_SHARE),
    )
    slow = _alarm(
        wanted,
        wanted.watch,
        SLOW,
        f"{wanted.name}-slow",
        "One in twenty of its requests takes longer than it may, in milliseconds.",
        ("slowest", "Duration", "p95"),
        "slowest",
        Param(_LATENCY),
    )
    return Part((_dashboard(wanted), fails, slow), _parameters(wanted, wanted.watch))


def _parameters(wanted: Wanted, watch: Watch) -> tuple[Parameter, ...]:
    derived = slow_ms(wanted.artifact.path, wanted.memory_mb, wanted.timeout)
    return (
        Parameter(_SHARE, "Percent of requests that may fail.", _USUAL_SHARE, number=True, least=0, most=100),
        Parameter(
            _LATENCY,
            "Milliseconds that 95 % of requests may take.",
            watch.latency_ms or derived,
            number=True,
            least=1,
        ),
        Parameter(
            _REQUESTS,
            f"Requests in {PERIOD // 60} minutes below which neither alarm looks: few say little.",
            _USUAL_REQUESTS,
            number=True,
            least=1,
        ),
    )


def _dashboard(wanted: Wanted) -> Resource:
    """Dashboards are the whole account's, functions a region's: both are in its name."""
    properties = {
        "DashboardName": Joined((f"coldpress-{wanted.name}-", Region())),
        "DashboardBody": Json(dashboard(wanted, Param(_LATENCY), Param("MemorySize"))),
    }
    return Resource(
        DASHBOARD,
        "AWS::CloudWatch::Dashboard",
        properties,
        "What Lambda counts, and what the function itself tells.",
    )


def _alarm(
    wanted: Wanted,
    watch: Watch,
    key: str,
    name: str,
    says: str,
    metric: tuple[str, str, str],
    figure: str,
    threshold: Param,
) -> Resource:
    """Of a figure that counts only where there were enough requests: a single failure at night wakes nobody."""
    enough = Joined(("IF(requests >= ", Param(_REQUESTS), f", {figure}, 0)"))
    told = [watch.topic] if watch.topic else None
    properties = {
        "AlarmName": name,
        "AlarmDescription": says,
        "Metrics": [
            {"Id": "figure", "Expression": enough, "Label": figure, "ReturnData": True},
            _counted(wanted, "requests", "Invocations", "Sum"),
            _counted(wanted, *metric),
        ],
        "ComparisonOperator": "GreaterThanThreshold",
        "Threshold": threshold,
        "EvaluationPeriods": _PERIODS,
        "DatapointsToAlarm": _BAD,
        "TreatMissingData": "notBreaching",
        "AlarmActions": told,
        "OKActions": told,
        "Tags": tags(wanted.tags),
    }
    return Resource(key, "AWS::CloudWatch::Alarm", present(properties), says)


def _counted(wanted: Wanted, key: str, metric: str, statistic: str) -> dict[str, Any]:
    dimensions = [{"Name": name, "Value": value} for name, value in of_alias(wanted.name, ALIAS).items()]
    named = {"Namespace": "AWS/Lambda", "MetricName": metric, "Dimensions": dimensions}
    return {
        "Id": key,
        "MetricStat": {"Metric": named, "Period": PERIOD, "Stat": statistic},
        "ReturnData": False,
    }
