"""How many at once: reserved for the function, and kept ready for the alias."""

from typing import Any

from coldpress.deploy.aws import Aws
from coldpress.deploy.parts.scaling import bounds
from coldpress.deploy.scaling import Range
from coldpress.deploy.steps import CHANGE, CHECK, CREATE, DELETE, Step, keep
from coldpress.deploy.wanted import ALIAS, Wanted
from coldpress.errors import DeployError

#: seconds that sandboxes may take to be ready
_PATIENCE = 600.0


def is_looser(wanted: Wanted, found: dict[str, Any] | None) -> bool:
    """Whether more at once will be let through than now."""
    have = (found or {}).get("ReservedConcurrentExecutions")
    return have is not None and (wanted.concurrency is None or wanted.concurrency > have)


def reserved_steps(aws: Aws, wanted: Wanted, found: dict[str, Any] | None) -> list[Step]:
    have = (found or {}).get("ReservedConcurrentExecutions")
    want = wanted.concurrency
    named = {"FunctionName": wanted.name}
    if have == want:
        return [] if want is None else [keep("reserved concurrency", str(want))]
    if want is None:
        return [
            Step(
                DELETE,
                "reserved concurrency",
                str(have),
                lambda: aws.drop("lambda", "delete_function_concurrency", **named),
            )
        ]
    return [
        Step(
            CREATE if have is None else CHANGE,
            "reserved concurrency",
            str(want),
            lambda: aws.call("lambda", "put_function_concurrency", **named, ReservedConcurrentExecutions=want),
        )
    ]


def provisioned_steps(
    aws: Aws, wanted: Wanted, found: dict[str, Any] | None, held: Range | None, *, moves: bool
) -> list[Step]:
    """`held`: the bounds between which use and the clock may move it; `moves`: the alias gets another version."""
    have = int((found or {}).get("RequestedProvisionedConcurrentExecutions", 0))
    ranges = bounds(wanted)
    want = ranges[0].least if ranges else wanted.provisioned
    named = {"FunctionName": wanted.name, "Qualifier": ALIAS}
    if held is not None and held.least <= have <= held.most:
        want = have
    if not want:
        gone = lambda: aws.drop("lambda", "delete_provisioned_concurrency_config", **named)  # noqa: E731
        return [Step(DELETE, "provisioned", str(have), gone)] if have else []
    state = (found or {}).get("Status", "READY")
    if have == want and state != "FAILED":
        if state == "READY" and not moves:
            return [keep("provisioned", str(have))]
        return [Step(CHECK, "provisioned", f"{want} are ready", lambda: _wait_for_ready(aws, named))]

    def act() -> None:
        aws.call("lambda", "put_provisioned_concurrency_config", **named, ProvisionedConcurrentExecutions=want)
        _wait_for_ready(aws, named)

    return [Step(CHANGE if have else CREATE, "provisioned", f"{want} kept ready", act)]


def _wait_for_ready(aws: Aws, named: dict[str, str]) -> None:
    """Until they are there: who says that some are kept ready means it."""
    end = aws.clock() + _PATIENCE
    while True:
        found = aws.call("lambda", "get_provisioned_concurrency_config", **named)
        if found["Status"] == "READY":
            return
        if found["Status"] == "FAILED" or aws.clock() > end:
            why = found.get("StatusReason", f"they were not ready within {_PATIENCE / 60:.0f} minutes")
            raise DeployError(
                f"{named['FunctionName']} is live, but sandboxes could not be kept ready: {why}. "
                f"Look at: coldpress status {named['FunctionName']}"
            )
        aws.pause(1.0 if aws.local else 5.0)
