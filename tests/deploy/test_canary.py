"""A new version gets a share of the traffic; what does harm goes back by itself. On the local Lambda for real."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from deploy_account import connect, pressed
from test_control import ANY, zipped
from test_deploy_local import local as local

from coldpress.deploy.aws import Aws
from coldpress.deploy.aws import connect as connect_local
from coldpress.deploy.canary import ENOUGH, Canary, harm
from coldpress.deploy.health import Health, read_health
from coldpress.deploy.manage import rollback, status
from coldpress.deploy.plan import plan
from coldpress.deploy.wanted import Wanted
from coldpress.errors import DeployError, UsageError

CODE = """
import time
read = lambda name: open(f"/var/task/{name}").read()
time.sleep(float(read("wait")))
answer = [read("which"), 1 / int(read("good"))]
"""


def version(folder: Path, which: str, *, good: int = 1, wait: float = 0.0) -> Any:
    """A function that answers, fails or is slow, as its files say."""
    return pressed(folder / which, zipped(ANY, which=which, good=str(good), wait=str(wait)))


@contextmanager
def traffic(aws: Aws) -> Iterator[Counter[str]]:
    """Somebody calls the alias all the time; which version answered, or that it failed."""
    seen: Counter[str] = Counter()
    stop, event = threading.Event(), json.dumps({"code": CODE})

    def ask() -> None:
        while not stop.is_set():
            done = aws.call("lambda", "invoke", FunctionName="small", Qualifier="live", Payload=event)
            said = json.loads(done["Payload"].read())
            seen["failed" if done.get("FunctionError") else said[0]] += 1

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()


def test_good_ones_stay_and_bad_ones_go_back(local: str, tmp_path: Path) -> None:
    aws = connect_local("us-east-1", local)
    plan(aws, Wanted("small", version(tmp_path, "first"))).run()
    half = Canary(0.5, 3.0)
    with traffic(aws) as seen:
        plan(aws, Wanted("small", version(tmp_path, "second"), canary=half)).run()
        assert seen["first"] > 20 and seen["second"] > 20 and not seen["failed"]
        assert status(aws, "small").live == "2" and status(aws, "small").weights == {}
        with pytest.raises(DeployError, match=r"version 3 of small went back, and version 2 has all .* failed"):
            plan(aws, Wanted("small", version(tmp_path, "broken", good=0), canary=half)).run()
        assert status(aws, "small").live == "2" and status(aws, "small").weights == {}
        failed = seen["failed"]
        with pytest.raises(DeployError, match=r"version 4 of small went back.*its p95 is"):
            plan(aws, Wanted("small", version(tmp_path, "slow", wait=0.1), canary=Canary(0.5, 60.0))).run()
        assert seen["failed"] == failed > 0
    after = status(aws, "small")
    assert after.live == "2" and after.weights == {} and after.versions == ["1", "2", "3", "4"]


class Watched(Aws):
    """moto's account, where time passes at once, and CloudWatch hears of requests as a test wants."""

    now = 1_800_000_000.0
    errors = 0
    fails_after = 10**9

    def call(self, service: str, operation: str, **arguments: Any) -> Any:
        if operation == "get_metric_data":
            self.fails_after -= 1
            if self.fails_after < 0:
                raise KeyboardInterrupt
            for query in arguments["MetricDataQueries"]:  # moto knows no percentiles
                query["MetricStat"]["Stat"] = query["MetricStat"]["Stat"].replace("p95", "Maximum")
        return super().call(service, operation, **arguments)

    def passes(self, seconds: float) -> None:
        self.now += seconds
        alias = self.call("lambda", "get_alias", FunctionName="small", Name="live")
        weights = (alias.get("RoutingConfig") or {}).get("AdditionalVersionWeights") or {}
        for running, errors in ((alias["FunctionVersion"], 0), *((one, self.errors) for one in weights)):
            dimensions = {"FunctionName": "small", "Resource": "small:live", "ExecutedVersion": running}
            named = [{"Name": name, "Value": value} for name, value in dimensions.items()]
            values = {"Invocations": 50.0, "Errors": float(errors), "Duration": 12.0}
            data = [
                {
                    "MetricName": name,
                    "Dimensions": named,
                    "Value": value,
                    "Timestamp": datetime.fromtimestamp(self.now, timezone.utc),
                }
                for name, value in values.items()
            ]
            self.call("cloudwatch", "put_metric_data", Namespace="AWS/Lambda", MetricData=data)


def watched(account: str, **more: Any) -> Watched:
    aws = connect(account, Watched)
    assert isinstance(aws, Watched)
    aws.pause, aws.clock = aws.passes, lambda: aws.now
    vars(aws).update(more)
    return aws


def test_on_aws_cloudwatch_is_asked(account: str, tmp_path: Path) -> None:
    ten = Canary(0.1, 300.0)
    plan(watched(account), Wanted("small", pressed(tmp_path / "one", b"one"))).run()
    said: list[str] = []
    aws = watched(account)
    began = aws.now
    plan(aws, Wanted("small", pressed(tmp_path / "two", b"two"), canary=ten)).run(say=said.append)
    assert 390 <= aws.now - began < 420, "five minutes, and until CloudWatch knows of the last request"
    assert "the canary did no harm in 1,300 requests" in said[-1]
    assert status(aws, "small").live == "2"
    with pytest.raises(DeployError, match=r"version 3 .* 5 of its 50 requests failed \(10.0%\)"):
        plan(watched(account, errors=5), Wanted("small", pressed(tmp_path / "three", b"three"), canary=ten)).run()
    assert status(aws, "small").live == "2" and status(aws, "small").weights == {}


def test_interrupted_it_goes_back_too(account: str, tmp_path: Path) -> None:
    plan(watched(account), Wanted("small", pressed(tmp_path / "one", b"one"))).run()
    aws = watched(account, fails_after=3)
    with pytest.raises(KeyboardInterrupt):
        plan(aws, Wanted("small", pressed(tmp_path / "two", b"two"), canary=Canary(0.1, 300.0))).run()
    assert status(aws, "small").live == "1" and status(aws, "small").weights == {}


def test_who_goes_back_meanwhile_is_heard(account: str, tmp_path: Path) -> None:
    """A rollback ends the canary for good: the deployment that watches it does not make it live after all."""
    plan(watched(account), Wanted("small", pressed(tmp_path / "one", b"one"))).run()

    class Impatient(Watched):
        def passes(self, seconds: float) -> None:
            super().passes(seconds)
            if self.now > 1_800_000_100:
                rollback(connect(account), "small").run()

    aws = connect(account, Impatient)
    assert isinstance(aws, Impatient)
    aws.pause, aws.clock = aws.passes, lambda: aws.now
    with pytest.raises(DeployError, match="somebody else has changed the alias live of small during its canary"):
        plan(aws, Wanted("small", pressed(tmp_path / "two", b"two"), canary=Canary(0.1, 300.0))).run()
    assert status(aws, "small").live == "1" and status(aws, "small").weights == {}


def test_going_back_that_fails_is_told(account: str, tmp_path: Path) -> None:
    """Credentials that expire while it is watched: the share that is left is named, and how to end it."""
    plan(watched(account), Wanted("small", pressed(tmp_path / "one", b"one"))).run()

    class Expiring(Watched):
        def call(self, service: str, operation: str, **arguments: Any) -> Any:
            if self.now > 1_800_000_100:
                raise DeployError("the credentials have expired")
            return super().call(service, operation, **arguments)

        def passes(self, seconds: float) -> None:
            super().passes(seconds)

    aws = connect(account, Expiring)
    assert isinstance(aws, Expiring)
    aws.pause, aws.clock = aws.passes, lambda: aws.now
    said = r"going back failed: .*Version 2 of small still has 10.* coldpress rollback small --to 1"
    with pytest.raises(DeployError, match=said):
        plan(aws, Wanted("small", pressed(tmp_path / "two", b"two"), canary=Canary(0.1, 300.0))).run()


def test_no_canary_while_a_door_is_closed(account: str, tmp_path: Path) -> None:
    artifact = pressed(tmp_path / "one", b"one")
    plan(connect(account), Wanted("small", artifact, url="token")).run()
    with pytest.raises(UsageError, match="deploy without --canary"):
        plan(connect(account), Wanted("small", artifact, url="iam", canary=Canary(0.1, 60.0)))


def test_what_counts_as_harm() -> None:
    fine = Health(1000, 0, 10.0)
    assert harm(fine, Health()) == "" and harm(Health(), fine) == ""
    assert harm(fine, Health(200, 2, 10.0)) == ""
    assert "3 of its 200 requests failed (1.5%)" in harm(fine, Health(200, 3, 10.0))
    assert harm(Health(1000, 100, 10.0), Health(200, 20, 10.0)) == "", "what fails anyway is not its fault"
    assert harm(fine, Health(ENOUGH, 0, 29.0)) == ""
    assert "its p95 is 31 ms" in harm(fine, Health(ENOUGH, 0, 31.0))
    assert harm(fine, Health(ENOUGH - 1, 0, 500.0)) == "", "the first ones are cold"


@pytest.mark.parametrize(
    ("share", "time"), [("0%", "5m"), ("100%", "5m"), ("10", "5m"), ("9%", "0m"), ("9%", "5")]
)
def test_no_canary(share: str, time: str) -> None:
    with pytest.raises(UsageError, match=r"--canary|--for"):
        Canary.parse(share, time)
    assert str(Canary.parse("12.5%", "90s")) == "12.5 % of the traffic for 90 seconds"


def test_nobody_asked_is_healthy(local: str, tmp_path: Path) -> None:
    aws = connect_local("us-east-1", local)
    plan(aws, Wanted("small", version(tmp_path, "first"))).run()
    assert read_health(aws, "small", ["1"], 0.0) == [Health()]
