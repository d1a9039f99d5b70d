"""A function that is deployed is asked, read and measured where it runs."""

import itertools
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from deploy_account import connect, pressed
from test_canary import version
from test_deploy_local import local as local

from coldpress.artifact import Artifact
from coldpress.bench.inputs import typical
from coldpress.bench.remote import run_remote
from coldpress.cli import app
from coldpress.deploy.aws import Aws
from coldpress.deploy.aws import connect as connect_local
from coldpress.deploy.log import follow_log, last_errors, read_log
from coldpress.deploy.manage import status
from coldpress.deploy.options import seconds
from coldpress.deploy.plan import plan
from coldpress.deploy.spending import month_so_far
from coldpress.deploy.wanted import Wanted
from coldpress.errors import DeployError, UsageError

Run = Callable[..., Result]


@pytest.fixture
def run(local: str, artifact: Artifact) -> Run:
    plan(connect_local("us-east-1", local), Wanted("minilm", artifact, memory_mb=1024)).run()

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, [*arguments, "--endpoint-url", local], env={"COLUMNS": "200"})

    return run


def test_asked_read_and_measured(run: Run, local: str, artifact: Artifact) -> None:
    done = run("invoke", "aws:minilm", "--data", '{"text": "hi"}')
    assert done.exit_code == 0 and len(json.loads(done.stdout)["embeddings"][0]) == 384
    assert "REPORT RequestId:" in done.stderr and "version 1, " in done.stderr
    bad = run("invoke", "aws:minilm", "--data", '{"text": 5}')
    assert "text" in bad.stdout
    written = run("logs", "minilm")
    assert written.exit_code == 0 and "REPORT RequestId:" in written.stdout
    shown = run("status", "minilm")
    assert "this month" in shown.stdout and "requests" in shown.stdout
    told = json.loads(run("status", "minilm", "--json").stdout)
    assert told["spent"]["requests"] >= 5 and told["spent"]["dollars"] > 0
    measured = run("bench", "aws:minilm", "--like", str(artifact.path), "--cold", "2", "--warm", "5")
    assert measured.exit_code == 0 and "cold start" in measured.stdout and "the local Lambda" in measured.stdout
    aws = connect_local("us-east-1", local)
    found = run_remote(aws, "minilm", typical(artifact), cold_runs=3, warm_runs=4)
    assert len(found.cold_ms) == 3 and all(5 < ms < 2000 for ms in found.cold_ms)
    assert {len(values) for values in found.warm.values()} == {4} and 0 < found.cost < 0.01
    assert plan(aws, Wanted("minilm", artifact, memory_mb=1024)).changes == [], "its variables are as before"
    assert run("bench", "aws:minilm").exit_code != 0
    unknown = run("logs", "nobody")
    assert isinstance(unknown.exception, DeployError) and "there is no function nobody" in str(unknown.exception)


def test_pieces_come_as_they_are_made(run: Run) -> None:
    done = run("invoke", "aws:minilm", "--stream", "--data", '{"text": "hi"}')
    assert done.exit_code == 0 and len(json.loads(done.stdout)["embeddings"][0]) == 384


def test_failures_are_told(local: str, tmp_path: Path) -> None:
    aws = connect_local("us-east-1", local)
    plan(aws, Wanted("small", version(tmp_path, "first"))).run()
    event = json.dumps({"code": "raise OSError('planned')"})
    aws.call("lambda", "invoke", FunctionName="small", Qualifier="live", Payload=event)
    crash = json.dumps({"code": "import os, sys; print('[ERROR] falling', flush=True); os._exit(3)"})
    aws.call("lambda", "invoke", FunctionName="small", Qualifier="live", Payload=crash)
    found = status(aws, "small", errors_since=0.0)
    assert any("[ERROR] falling" in line for line in found.errors)


def test_a_log_is_followed_and_no_line_comes_twice(local: str, tmp_path: Path) -> None:
    aws = connect_local("us-east-1", local)
    plan(aws, Wanted("small", version(tmp_path, "first"))).run()

    def write() -> None:
        for number in range(20):
            event = json.dumps({"code": f"print('line {number % 3}', flush=True)"})
            aws.call("lambda", "invoke", FunctionName="small", Qualifier="live", Payload=event)
        print_end = json.dumps({"code": "print('the end', flush=True)"})
        aws.call("lambda", "invoke", FunctionName="small", Qualifier="live", Payload=print_end)

    writer = threading.Thread(target=write)
    writer.start()
    until = itertools.takewhile(lambda line: line.text != "the end", follow_log(aws, "small", 0.0))
    lines = [line.text for line in until]
    writer.join()
    assert sum(line.startswith("line ") for line in lines) == 20


class Quick(Aws):
    """Nobody waits."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, pause=lambda seconds: None)


def test_cloudwatch_is_read_page_by_page(account: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coldpress.deploy.log.PAGE", 10)
    aws = connect(account, Quick)
    plan(aws, Wanted("small", pressed(tmp_path / "one", b"one"))).run()
    assert [*read_log(aws, "never", 0.0)] == []
    group, now = "/aws/lambda/small", time.time()
    aws.call("logs", "create_log_stream", logGroupName=group, logStreamName="one")
    texts = [f"line {number}" for number in range(30)] + ["[ERROR] planned\n", "fine"]
    times = [int((now + number / 100) * 1000) for number in range(len(texts))]
    events = [{"timestamp": at, "message": text} for at, text in zip(times, texts, strict=True)]
    aws.call("logs", "put_log_events", logGroupName=group, logStreamName="one", logEvents=events)
    assert [line.text for line in read_log(aws, "small", now - 1)] == [text.rstrip() for text in texts]
    assert aws.calls.count(("logs", "filter_log_events")) >= 5
    assert [line.text for line in last_errors(aws, "small", now - 1)] == ["[ERROR] planned"]
    again = itertools.islice(follow_log(aws, "small", now - 1), len(texts))
    assert len([*again]) == len(texts)


def test_the_month_is_summed_up(account: str, tmp_path: Path) -> None:
    aws = connect(account)
    plan(aws, Wanted("small", pressed(tmp_path / "one", b"one"), memory_mb=1024)).run()
    for metric, value in (("Invocations", 1_000_000.0), ("Duration", 10_000_000.0)):
        data = {"MetricName": metric, "Dimensions": [{"Name": "FunctionName", "Value": "small"}], "Value": value}
        aws.call("cloudwatch", "put_metric_data", Namespace="AWS/Lambda", MetricData=[data])
    config = aws.call("lambda", "get_function_configuration", FunctionName="small")
    spent = month_so_far(aws, "small", config)
    # A million requests for 0.20 $, and 10,500 s of 1 GB at 0.0000166667 $.
    assert spent.requests == 1_000_000 and spent.dollars == pytest.approx(0.20 + 10_500 * 0.0000166667, rel=1e-4)


def test_times_ago() -> None:
    assert seconds("--since", "2h") == 7200
    with pytest.raises(UsageError, match="--since 'yesterday'"):
        seconds("--since", "yesterday")
