"""What a function has cost this month, as far as its metrics tell."""

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from coldpress.cost.bill import LambdaUse, lambda_bill
from coldpress.cost.book import price_book
from coldpress.deploy.aws import Aws
from coldpress.errors import UsageError

_DAY = 86400


@dataclass(frozen=True)
class Spending:
    requests: int
    dollars: float
    #: what the figure leaves out, or where it is from
    note: str


def month_so_far(aws: Aws, name: str, config: dict[str, Any]) -> Spending:
    """Requests and durations of all versions, at today's memory size."""
    if aws.local:
        running = [one["totals"] for one in aws.look("")["running"] if one["function"] == name]
        requests, dollars = sum(one["requests"] for one in running), sum(one["cost_usd"] for one in running)
        return Spending(requests, dollars, "as it would cost on Lambda; since the local one was started")
    now = datetime.fromtimestamp(aws.clock(), timezone.utc)
    start = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    requests = _sum(aws, name, "Invocations", start, now)
    duration = _sum(aws, name, "Duration", start, now)
    memory, arch = int(config["MemorySize"]), str((config.get("Architectures") or ["x86_64"])[0])
    try:
        book, note = price_book(aws.region), ""
    except UsageError:  # a region whose prices are not known
        book, note = price_book(), "at the prices of us-east-1; "
    # A request is paid for by the whole millisecond: half of one is added to each.
    use = LambdaUse(int(requests), duration + requests / 2, memory, arch)
    return Spending(
        int(requests),
        lambda_bill(use, book).dollars,
        note + "without inits and what is kept ready",
    )


def _sum(aws: Aws, name: str, metric: str, start: datetime, end: datetime) -> float:
    found = aws.call(
        "cloudwatch",
        "get_metric_statistics",
        Namespace="AWS/Lambda",
        MetricName=metric,
        Dimensions=[{"Name": "FunctionName", "Value": name}],
        StartTime=start,
        EndTime=end + timedelta(minutes=1),  # this minute, too
        Period=_DAY,
        Statistics=["Sum"],
    )
    return float(sum(point["Sum"] for point in found["Datapoints"]))
