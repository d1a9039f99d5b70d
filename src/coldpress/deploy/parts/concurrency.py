"""How many at once: reserved for the function, and kept ready for the alias."""

from typing import Any

from coldpress.deploy.aws import Aws
from coldpress.deploy.steps import CHANGE, CREATE, DELETE, Step, keep
from coldpress.deploy.wanted import ALIAS, Wanted


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
                lambda: aws.call("lambda", "delete_function_concurrency", **named),
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


def provisioned_steps(aws: Aws, wanted: Wanted, found: dict[str, Any] | None) -> list[Step]:
    have = int((found or {}).get("RequestedProvisionedConcurrentExecutions", 0))
    want = wanted.provisioned
    named = {"FunctionName": wanted.name, "Qualifier": ALIAS}
    if have == want:
        return [keep("provisioned", str(want))] if want else []
    if not want:
        return [
            Step(
                DELETE,
                "provisioned",
                str(have),
                lambda: aws.call("lambda", "delete_provisioned_concurrency_config", **named),
            )
        ]

    def act() -> None:
        aws.call("lambda", "put_provisioned_concurrency_config", **named, ProvisionedConcurrentExecutions=want)

    return [Step(CHANGE if have else CREATE, "provisioned", f"{want} kept ready", act)]
