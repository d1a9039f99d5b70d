"""How versions fare while traffic goes to them: requests, errors, the slow ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from math import ceil
from typing import Any

from coldpress.deploy.aws import Aws
from coldpress.deploy.wanted import ALIAS

#: seconds until CloudWatch knows of a request
LATE = 90.0
_MINUTE = 60
_PERIODS = (60, 300, 900, 3600, 21600, 86400)


@dataclass(frozen=True)
class Health:
    requests: int = 0
    errors: int = 0
    #: None where nothing was asked
    p95_ms: float | None = None

    @property
    def error_share(self) -> float:
        return self.errors / self.requests if self.requests else 0.0


def read_health(aws: Aws, name: str, versions: Sequence[str], since: float) -> list[Health]:
    """Of each version, from a time on. An alias with weights tells its versions apart."""
    if aws.local:
        return [_local(aws, name, version, since) for version in versions]
    until = aws.clock()
    period = next((one for one in _PERIODS if one >= until - since), _PERIODS[-1])
    found = aws.call(
        "cloudwatch",
        "get_metric_data",
        MetricDataQueries=[query for version in versions for query in _queries(name, version, period)],
        StartTime=datetime.fromtimestamp(since // _MINUTE * _MINUTE, timezone.utc),
        EndTime=datetime.fromtimestamp(ceil(until / _MINUTE) * _MINUTE, timezone.utc),
    )
    values = {
        one["Id"]: dict(zip(one["Timestamps"], map(float, one["Values"]), strict=True))
        for one in found["MetricDataResults"]
    }
    return [_of(values, version) for version in versions]


def _queries(name: str, version: str, period: int) -> list[dict[str, Any]]:
    dimensions = {"FunctionName": name, "Resource": f"{name}:{ALIAS}", "ExecutedVersion": version}
    metrics = (("requests", "Invocations", "Sum"), ("errors", "Errors", "Sum"), ("p95", "Duration", "p95"))
    return [
        {
            "Id": f"{key}_{version}",
            "MetricStat": {
                "Metric": {
                    "Namespace": "AWS/Lambda",
                    "MetricName": metric,
                    "Dimensions": [{"Name": field, "Value": value} for field, value in dimensions.items()],
                },
                "Period": period,
                "Stat": statistic,
            },
        }
        for key, metric, statistic in metrics
    ]


def _of(values: dict[str, dict[Any, float]], version: str) -> Health:
    """Periods are as long as the time that is watched, so that there are one or two: a minute has too few of a
    canary's requests for a p95 of its own."""
    requests, slow = values.get(f"requests_{version}", {}), values.get(f"p95_{version}", {})
    weighed = [(requests.get(when, 0.0), p95) for when, p95 in slow.items()]
    total = sum(weight for weight, _ in weighed)
    return Health(
        int(sum(requests.values())),
        int(sum(values.get(f"errors_{version}", {}).values())),
        sum(weight * p95 for weight, p95 in weighed) / total if total else None,
    )


def _local(aws: Aws, name: str, version: str, since: float) -> Health:
    found = aws.look("requests", function=name, version=version, since=since)["requests"]
    asked = [one for one in found if one["status"] != 429]
    times = sorted(float(one["duration_ms"]) for one in asked if one["duration_ms"] is not None)
    p95 = times[ceil(0.95 * len(times)) - 1] if times else None
    return Health(len(asked), sum(one["error"] is not None for one in asked), p95)
