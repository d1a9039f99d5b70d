"""Kept ready, by use and by the clock. moto has Application Auto Scaling, and no provisioned concurrency: what is
asked of that is held against botocore's own model of the service."""

from pathlib import Path
from typing import Any

import pytest
from botocore.stub import Stubber
from deploy_account import Killed, connect, pressed
from test_canary import version
from test_deploy_local import local as local

from coldpress.artifact import Artifact
from coldpress.deploy.aws import Aws
from coldpress.deploy.aws import connect as connect_local
from coldpress.deploy.manage import delete, status
from coldpress.deploy.parts.concurrency import provisioned_steps
from coldpress.deploy.plan import plan
from coldpress.deploy.scaling import Autoscale, Range, Schedule
from coldpress.deploy.wanted import Wanted
from coldpress.errors import DeployError, UsageError

NAMED = {"FunctionName": "small", "Qualifier": "live"}
DAY = Schedule.parse("cron(0 8 ? * MON-FRI *)@Europe/Berlin=5:20")
NIGHT = Schedule.parse("cron(0 20 ? * MON-FRI *)@Europe/Berlin=1:4")


class Provisioning(Aws):
    """moto's account, where sandboxes can be kept ready."""

    left = 10**9
    kept: dict[str, int]

    def call(self, service: str, operation: str, **arguments: Any) -> Any:
        if "provisioned" not in operation:
            answer = super().call(service, operation, **arguments)
        else:
            self.calls.append((service, operation))
            answer = self._provisioned(operation, arguments)
        self.left -= 1
        if self.left < 0:
            raise Killed
        return answer

    def find(self, service: str, operation: str, **arguments: Any) -> Any | None:
        if "provisioned" in operation:
            self.calls.append((service, operation))
            return self._provisioned(operation, arguments) if self.kept else None
        return super().find(service, operation, **arguments)

    def _provisioned(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if operation.startswith("put"):
            self.kept["number"] = arguments["ProvisionedConcurrentExecutions"]
        elif operation.startswith("delete"):
            self.kept.clear()
            return {}
        return {"RequestedProvisionedConcurrentExecutions": self.kept["number"], "Status": "READY"}


@pytest.fixture
def artifact(tmp_path: Path) -> Artifact:
    return pressed(tmp_path / "out", b"one")


def run(account: str, kept: dict[str, int], wanted: Wanted, left: int = 10**9) -> list[tuple[str, str]]:
    aws = connect(account, Provisioning)
    assert isinstance(aws, Provisioning)
    aws.kept, aws.left = kept, left
    plan(aws, wanted).run()
    return aws.writes


def state(account: str) -> dict[str, Any]:
    aws = connect(account)
    asked = {"ServiceNamespace": "lambda"}
    targets = aws.call("application-autoscaling", "describe_scalable_targets", **asked)["ScalableTargets"]
    policies = aws.call("application-autoscaling", "describe_scaling_policies", **asked)["ScalingPolicies"]
    actions = aws.call("application-autoscaling", "describe_scheduled_actions", **asked)["ScheduledActions"]
    return {
        "targets": [(one["ResourceId"], one["MinCapacity"], one["MaxCapacity"]) for one in targets],
        "use": [one["TargetTrackingScalingPolicyConfiguration"]["TargetValue"] for one in policies],
        "times": sorted((one["Schedule"], one.get("Timezone")) for one in actions),
    }


def test_use_and_the_clock(account: str, artifact: Artifact) -> None:
    kept: dict[str, int] = {}
    scaled = Wanted("small", artifact, autoscale=Autoscale.parse("1:10@70%"), schedules=(DAY, NIGHT))
    run(account, kept, scaled)
    assert kept == {"number": 1}
    assert state(account) == {
        "targets": [("function:small:live", 1, 10)],
        "use": [0.7],
        "times": sorted((one.when, one.zone) for one in (DAY, NIGHT)),
    }
    assert run(account, kept, scaled) == []
    kept["number"] = 7  # as use has made it
    assert run(account, kept, scaled) == []
    # The clock has come: other bounds than those that were asked for at first, and all is well.
    named = {"ServiceNamespace": "lambda", "ResourceId": "function:small:live"}
    dimension = "lambda:function:ProvisionedConcurrency"
    connect(account).call(
        "application-autoscaling",
        "register_scalable_target",
        **named,
        ScalableDimension=dimension,
        MinCapacity=5,
        MaxCapacity=20,
    )
    kept["number"] = 15
    assert run(account, kept, scaled) == []


def test_it_is_changed_and_ended(account: str, artifact: Artifact) -> None:
    kept: dict[str, int] = {}
    run(account, kept, Wanted("small", artifact, autoscale=Autoscale.parse("1:10@70%"), schedules=(DAY,)))
    writes = run(
        account, kept, Wanted("small", artifact, autoscale=Autoscale.parse("1:12@50%"), schedules=(NIGHT,))
    )
    assert [operation for _, operation in writes] == [
        "register_scalable_target",
        "put_scaling_policy",
        "put_scheduled_action",
        "delete_scheduled_action",
    ]
    assert state(account)["use"] == [0.5] and state(account)["targets"][0][1:] == (1, 12)
    writes = run(account, kept, Wanted("small", artifact))
    assert [operation for _, operation in writes] == [
        "deregister_scalable_target",
        "delete_provisioned_concurrency_config",
    ]
    assert state(account)["targets"] == [] and kept == {}
    run(account, kept, Wanted("small", artifact, provisioned=2, schedules=(DAY,)))
    assert state(account)["targets"] == [("function:small:live", 2, 2)] and kept == {"number": 2}
    aws = connect(account)
    assert "scaling" in [step.what for step in delete(aws, "small").steps]
    delete(aws, "small").run()
    assert state(account)["targets"] == []


def test_killed_after_each_call(account: str, artifact: Artifact) -> None:
    for died in range(100):
        name = f"small{died}"
        wanted = Wanted(name, artifact, autoscale=Autoscale(Range(1, 10), 0.7), schedules=(DAY, NIGHT))
        kept: dict[str, int] = {}
        try:
            run(account, kept, wanted, left=died)
            break
        except Killed:
            run(account, kept, wanted)
        assert run(account, kept, wanted) == [] and kept == {"number": 1}, f"killed after call {died + 1}"
    assert died > 15


def stubbed(account: str) -> tuple[Aws, Stubber]:
    aws = Aws(endpoint_url=account, pause=lambda seconds: None)
    stub = Stubber(aws.client("lambda"))
    stub.activate()
    return aws, stub


def test_as_the_service_says(account: str, artifact: Artifact) -> None:
    """Asked for, waited for, and told if it fails: the calls and the answers are of botocore's own model."""
    aws, stub = stubbed(account)
    put = {**NAMED, "ProvisionedConcurrentExecutions": 3}
    half = {"RequestedProvisionedConcurrentExecutions": 3, "AvailableProvisionedConcurrentExecutions": 1}
    stub.add_response("put_provisioned_concurrency_config", {**half, "Status": "IN_PROGRESS"}, put)
    stub.add_response("get_provisioned_concurrency_config", {**half, "Status": "IN_PROGRESS"}, NAMED)
    stub.add_response("get_provisioned_concurrency_config", {**half, "Status": "READY"}, NAMED)
    (step,) = provisioned_steps(aws, Wanted("small", artifact, provisioned=3), None, None, moves=False)
    assert step.act is not None
    step.act()
    stub.assert_no_pending_responses()
    stub.add_response("put_provisioned_concurrency_config", {**half, "Status": "IN_PROGRESS"}, put)
    failed = {**half, "Status": "FAILED", "StatusReason": "FUNCTION_ERROR_INIT_FAILURE"}
    stub.add_response("get_provisioned_concurrency_config", failed, NAMED)
    with pytest.raises(DeployError, match=r"be kept ready: FUNCTION_ERROR_INIT_FAILURE.*coldpress status"):
        step.act()
    stub.add_response("delete_provisioned_concurrency_config", {}, NAMED)
    three = {"RequestedProvisionedConcurrentExecutions": 3}
    (step,) = provisioned_steps(aws, Wanted("small", artifact), three, None, moves=False)
    assert step.act is not None
    step.act()
    stub.assert_no_pending_responses()


@pytest.mark.parametrize(
    ("status", "moves", "verb"),
    [
        ("READY", False, "keep"),
        ("READY", True, "check"),
        ("IN_PROGRESS", False, "check"),
        ("FAILED", False, "change"),
    ],
)
def test_the_number_alone_is_not_enough(
    account: str, artifact: Artifact, status: str, moves: bool, verb: str
) -> None:
    have = {"RequestedProvisionedConcurrentExecutions": 3, "Status": status}
    wanted = Wanted("small", artifact, provisioned=3)
    (step,) = provisioned_steps(connect(account), wanted, have, None, moves=moves)
    assert step.verb == verb


def test_bounds_of_a_schedule_that_is_new_are_not_the_clocks(account: str, artifact: Artifact) -> None:
    kept: dict[str, int] = {}
    run(account, kept, Wanted("small", artifact, autoscale=Autoscale.parse("5:20@70%")))
    run(account, kept, Wanted("small", artifact, autoscale=Autoscale.parse("1:10@70%"), schedules=(DAY,)))
    assert state(account)["targets"] == [("function:small:live", 1, 10)]


def test_kept_ready_for_real(local: str, tmp_path: Path) -> None:
    aws = connect_local(None, local)
    wanted = Wanted("small", version(tmp_path, "first"), provisioned=2)
    plan(aws, wanted).run()
    assert status(aws, "small").provisioned == "2 of 2 READY"
    assert plan(aws, wanted).changes == []


def test_what_excludes_what(artifact: Artifact) -> None:
    use = Autoscale(Range(1, 2), 0.5)
    for wrong in (
        {"provisioned": 1, "autoscale": use},
        {"snapstart": True, "autoscale": use},
        {"schedules": (DAY,)},
        {"autoscale": Autoscale(Range(0, 2), 0.5)},
        {"provisioned": 2, "reserved": 1},
    ):
        with pytest.raises(UsageError):
            Wanted(**{"name": "small", "artifact": artifact, **wrong})  # type: ignore[arg-type]
