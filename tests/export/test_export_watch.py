"""The dashboard and the alarms: of metrics that are written, of enough requests, the same for every tool."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from export_cases import CASES, TOPIC, pressed, text, wanted
from export_made import watching
from export_templates import parsed, resources
from hypothesis import given, settings
from hypothesis import strategies as st
from test_export_sam import transformed

from coldpress.artifact import Artifact
from coldpress.cost.bill import LambdaUse, lambda_bill
from coldpress.cost.book import read_book, shipped_content
from coldpress.deploy.wanted import Wanted
from coldpress.deploy.watch import Watch
from coldpress.errors import UsageError
from coldpress.export.run import contents
from coldpress_runtime import metrics as runtime

WATCHED = [one for one in CASES if "watch" in CASES[one]]


@pytest.fixture(autouse=True)
def region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")


def watched(folder: Path, case: str, said: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    template = parsed(text("cloudformation", wanted(folder, case, **more), "template.yaml"))
    return watching(resources(template, **(said or {})))


def shown(found: dict[str, Any]) -> list[list[Any]]:
    """Every metric and every expression of a dashboard."""
    graphs = [one["properties"] for one in found["body"]["widgets"] if one["type"] == "metric"]
    return [metric for graph in graphs for metric in graph["metrics"]]


@pytest.mark.parametrize("case", WATCHED)
def test_it_shows_what_the_function_writes(tmp_path: Path, case: str) -> None:
    """All of it, and nothing else under its name."""
    whole, each = runtime.DIMENSIONS
    names = set()
    for metric in shown(watched(tmp_path, case)):
        if metric[0] == runtime.NAMESPACE:
            names.add(metric[1])
            assert metric[2:-1] == [*whole, "small"]
        elif isinstance(metric[0], dict) and "SEARCH" in metric[0]["expression"]:
            found = re.fullmatch(
                r"SEARCH\('\{(.+?)\} MetricName=\"(\w+)\" FunctionName=\"small\"', '\w+', 300\)",
                metric[0]["expression"],
            )
            assert found and found[1].split(",") == [runtime.NAMESPACE, *each]
            names.add(found[2])
    assert names == set(runtime.NAMES)


@pytest.mark.parametrize("case", WATCHED)
def test_sam_is_watched_as_by_cloudformation(tmp_path: Path, case: str) -> None:
    assert watching(resources(transformed(wanted(tmp_path, case)))) == watched(tmp_path, case)


@pytest.mark.parametrize("case", CASES)
def test_only_who_asks_is_watched(tmp_path: Path, case: str) -> None:
    template = text("cloudformation", wanted(tmp_path, case), "template.yaml")
    assert ("AWS::CloudWatch" in template) == ("COLDPRESS_METRICS: 'on'" in template) == (case in WATCHED)


@pytest.mark.parametrize("case", WATCHED)
def test_nothing_lies_on_anything_else(tmp_path: Path, case: str) -> None:
    taken: set[tuple[int, int]] = set()
    for one in watched(tmp_path, case)["body"]["widgets"]:
        area = {
            (x, y)
            for x in range(one["x"], one["x"] + one["width"])
            for y in range(one["y"], one["y"] + one["height"])
        }
        assert not area & taken and max(x for x, _ in area) < 24
        taken |= area


def test_what_is_kept_ready_and_what_waits(tmp_path: Path) -> None:
    plain, closely = ([one[1] for one in shown(watched(tmp_path, case)) if len(one) > 1] for case in WATCHED)
    more = {
        "ProvisionedConcurrencyUtilization",
        "ProvisionedConcurrencySpilloverInvocations",
        "ApproximateNumberOfMessagesVisible",
        "ApproximateAgeOfOldestMessage",
    }
    assert set(closely) - set(plain) == more


def figure(alarm: dict[str, Any], **metrics: float) -> float:
    """As CloudWatch reckons it: the expressions are also Python's."""
    (expression,) = [one["Expression"] for one in alarm["Metrics"] if one["ReturnData"]]
    names = {one["Id"] for one in alarm["Metrics"] if not one["ReturnData"]}
    assert names == metrics.keys()
    return float(eval(expression, {"IF": lambda test, yes, no: yes if test else no, **metrics}))


def test_a_single_failure_wakes_nobody(tmp_path: Path) -> None:
    alarms = watched(tmp_path, "watched")["alarms"]
    errors, slow = alarms["small-errors"], alarms["small-slow"]
    assert figure(errors, requests=1, errors=1) == figure(errors, requests=19, errors=19) == 0
    assert figure(errors, requests=20, errors=1) == 5 == errors["Threshold"]
    assert figure(errors, requests=20, errors=2) > errors["Threshold"]
    assert figure(slow, requests=3, slowest=60_000) == 0
    assert figure(slow, requests=20, slowest=15_001) > slow["Threshold"] == 15_000
    for one in alarms.values():
        assert one["ComparisonOperator"] == "GreaterThanThreshold" and one["TreatMissingData"] == "notBreaching"
        assert (one["EvaluationPeriods"], one["DatapointsToAlarm"]) == (3, 2)


def test_what_may_be_said_when_deploying(tmp_path: Path) -> None:
    said = {"AlarmErrorPercent": "1", "AlarmLatency": "70", "AlarmRequests": "100", "MemorySize": "512"}
    found = watched(tmp_path, "watched", said)
    errors, slow = found["alarms"]["small-errors"], found["alarms"]["small-slow"]
    assert (errors["Threshold"], slow["Threshold"]) == ("1", "70")
    assert figure(errors, requests=99, errors=99) == 0 and figure(errors, requests=100, errors=99) == 99
    body = json.dumps(found["body"])
    assert '"value": 70}' in body and " * 512 / 1024 * " in body


def test_who_is_told(tmp_path: Path) -> None:
    for one in watched(tmp_path, "watched")["alarms"].values():
        assert not {"AlarmActions", "OKActions"} & one.keys()
    for one in watched(tmp_path, "watched_closely")["alarms"].values():
        assert one["AlarmActions"] == one["OKActions"] == [TOPIC]
    for wrong in ("alarms", "arn:aws:sqs:eu-west-1:123456789012:alarms", f"{TOPIC}.fifo", f"{TOPIC} "):
        with pytest.raises(UsageError, match=r"--alarm-topic .* is not a topic of SNS; write it as arn:aws:sns"):
            Watch(wrong)
    with pytest.raises(UsageError, match="--watch sets COLDPRESS_METRICS, and so does --env"):
        wanted(tmp_path, "watched", env={"COLDPRESS_METRICS": "off"})


@pytest.mark.parametrize(("case", "arch"), [("watched", "x86_64"), ("watched_closely", "arm64")])
def test_the_price_is_the_bills(tmp_path: Path, case: str, arch: str) -> None:
    """Of an hour that goes on as the five minutes did."""
    (price,) = [one[0]["expression"] for one in shown(watched(tmp_path, case)) if "PERIOD" in str(one[0])]
    an_hour = eval(price, {"ms": 5_000_000, "requests": 1_000, "PERIOD": lambda _: 300})
    bill = lambda_bill(LambdaUse(12_000, 60_000_000, 1769, arch), read_book(shipped_content("us-east-1")))
    assert an_hour == pytest.approx(bill.dollars, rel=1e-6)


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return pressed(tmp_path_factory.mktemp("names") / "out")


@given(st.from_regex(r"\A[a-zA-Z0-9_-]{1,64}\Z"))
@settings(deadline=None, max_examples=25)
def test_any_name(artifact: Artifact, name: str) -> None:
    template = str(contents("cloudformation", Wanted(name, artifact, watch=Watch()))["template.yaml"])
    assert len(template) < 51_200, "more cannot be sent without a bucket"
    found = watching(resources(parsed(template)))
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,255}", found["name"])
    assert set(found["alarms"]) == {f"{name}-errors", f"{name}-slow"}
    whom = {metric[metric.index("FunctionName") + 1] for metric in shown(found) if "FunctionName" in metric}
    assert whom == {name}


def test_the_command(tmp_path: Path) -> None:
    pressed(tmp_path / "out")

    def run(*said: str) -> subprocess.CompletedProcess[str]:
        command = [
            str(Path(sys.executable).parent / "coldpress"),
            "export",
            "cloudformation",
            "out",
            "--name",
            "a",
        ]
        return subprocess.run([*command, *said], cwd=tmp_path, capture_output=True, text=True, check=False)

    alone = run("--alarm-topic", TOPIC)
    assert alone.returncode == 2 and "which --watch makes: say it too" in alone.stderr
    done = run(
        *("--watch", "--alarm-topic", TOPIC, "--alarm-latency", "250"),
        *("--queue", "arn:aws:sqs:eu-west-1:123456789012:jobs", "--batch-size", "50", "--sink", "s3://answers/a"),
    )
    assert done.returncode == 0, done.stderr
    template = parsed((tmp_path / "a-cloudformation" / "template.yaml").read_text())
    assert template["Parameters"]["AlarmLatency"]["Default"] == 250
    assert template["Parameters"]["BatchSize"]["Default"] == 50
    told = (tmp_path / "a-cloudformation" / "README.md").read_text()
    assert "## The queues" in told and "`AlarmErrorPercent`" in told
    local = run("--queue", "http://127.0.0.1:9000/000000000000/jobs", "--out", "b")
    assert local.returncode == 2 and "does not tell its region" in local.stderr


def test_a_role_of_somebody_elses_is_told_what_it_needs(tmp_path: Path) -> None:
    told = text("terraform", wanted(tmp_path, "many_messages"), "README.md")
    assert "- `sqs:SendMessage on arn:aws:sqs:eu-west-1:123456789012:answers`\n" in told
    assert "- `sqs:ReceiveMessage, sqs:DeleteMessage, sqs:GetQueueAttributes on arn:aws:sqs:" in told
    assert "## The role" not in text("terraform", wanted(tmp_path, "queues"), "README.md")
