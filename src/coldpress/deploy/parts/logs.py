"""The log group: made before the function would make one that keeps its lines for ever."""

from coldpress.deploy.aws import Aws
from coldpress.deploy.parts.role import log_group
from coldpress.deploy.steps import CHANGE, CREATE, Step, keep
from coldpress.deploy.wanted import Wanted


def steps(aws: Aws, wanted: Wanted) -> list[Step]:
    if aws.local:
        return []
    group, days = log_group(wanted), wanted.retention_days
    what, detail = f"log {group}", f"kept for {days} days"
    found = aws.call("logs", "describe_log_groups", logGroupNamePrefix=group)["logGroups"]
    here = next((one for one in found if one["logGroupName"] == group), None)

    def keep_days() -> None:
        aws.call("logs", "put_retention_policy", logGroupName=group, retentionInDays=days)

    def create() -> None:
        aws.call("logs", "create_log_group", logGroupName=group, tags=wanted.tags or {"made-by": "coldpress"})
        keep_days()

    if here is None:
        return [Step(CREATE, what, detail, create)]
    if here.get("retentionInDays") != days:
        return [Step(CHANGE, what, detail, keep_days)]
    return [keep(what)]
