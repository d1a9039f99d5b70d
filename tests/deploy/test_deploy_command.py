"""The command: shows first, asks, and never waits for an answer on a terminal that is not there."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from deploy_account import connect, pressed

from coldpress.artifact import Artifact

COLDPRESS = str(Path(sys.executable).parent / "coldpress")


@pytest.fixture
def run(account: str, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    artifact = pressed(tmp_path / "out", b"one")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [
            COLDPRESS,
            "deploy",
            str(artifact.path),
            "--name",
            "small",
            "--endpoint-url",
            account,
            "--no-doctor",  # there is nothing in it that could run
            *arguments,
        ]
        environment = os.environ | {"COLUMNS": "120"}
        return subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )

    return run


def test_it_shows_asks_and_does(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    looked = run("--dry-run")
    assert looked.returncode == 0 and "create" in looked.stderr and "function small" in looked.stderr
    unasked = run()
    assert unasked.returncode == 2 and "there is no terminal to ask on: say --yes" in unasked.stderr
    done = run("--yes", "--url", "token")
    assert done.returncode == 0, done.stderr
    assert "The bearer token, shown this once:" in done.stderr and "version 1 is live" in done.stderr
    assert done.stdout.startswith("https://")
    again = run("--yes", "--url", "token")
    assert again.returncode == 0 and "nothing to do" in again.stderr and "bearer token" not in again.stderr


def test_a_public_url_is_warned_of(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    assert "open to everybody" in run("--dry-run", "--url", "public").stderr
    assert "open to everybody" not in run("--dry-run").stderr


def test_what_will_hurt_and_what_it_costs(
    run: Callable[..., subprocess.CompletedProcess[str]], account: str, measured: Artifact
) -> None:
    sick = run("--doctor", "--yes")
    assert sick.returncode == 1 and "red" in sick.stderr and "say --no-doctor to go on" in sick.stderr
    assert "create function" not in sick.stderr
    command = [COLDPRESS, "deploy", str(measured.path), "--name", "minilm", "--endpoint-url", account, "--dry-run"]

    def look(*arguments: str) -> str:
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stderr

    usual = look("--memory", "1769")
    assert "a million requests (16 tokens, warm): $0." in usual and "without requests: nothing" in usual
    assert "not known at 3,008 MB; measure them with: coldpress bench" in look("--memory", "3008")
    # One GB ready for 730 hours at 0.0000041667 $ a GB-second, of us-east-1: 10.95 $; eu-west-1 may differ.
    ready = look("--memory", "1024", "--provisioned", "1", "--region", "us-east-1")
    assert "kept ready, without requests: $10.95" in ready
    between = look("--memory", "1024", "--autoscale", "1:3@70%", "--region", "us-east-1")
    assert "$10.95 to $32.85" in between
    assert "snapshot: $" in look("--memory", "1024", "--snapstart")


def test_the_other_commands(run: Callable[..., subprocess.CompletedProcess[str]], account: str) -> None:
    def other(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [COLDPRESS, *arguments, "--endpoint-url", account]
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    run("--yes")
    run("--yes", "--memory", "512")
    assert "version 2" in other("status", "small").stdout
    assert '"live": "2"' in other("status", "small", "--json").stdout
    assert other("rollback", "small").returncode == 2
    assert other("rollback", "small", "--yes").returncode == 0
    assert '"live": "1"' in other("status", "small", "--json").stdout
    assert "nothing to do" in other("prune", "small", "--yes").stderr
    assert "role coldpress-small-eu-west-1" in other("delete", "small", "--dry-run").stderr
    assert other("delete", "small", "--yes").returncode == 0
    gone = other("status", "small")
    assert gone.returncode == 1 and "there is no function small in eu-west-1" in gone.stderr


def test_queues_and_answers(run: Callable[..., subprocess.CompletedProcess[str]], account: str) -> None:
    connect(account).call("sqs", "create_queue", QueueName="jobs")
    jobs = "arn:aws:sqs:eu-west-1:123456789012:jobs"
    looked = run("--dry-run", "--queue", jobs, "--batch-size", "5", "--sink", "s3://answers/small")
    words = " ".join(looked.stderr.split())
    assert looked.returncode == 0 and "queue jobs 5 messages at once at most; hides them for 30 s" in words
    assert "may write its own log, s3:PutObject, sqs:ReceiveMessage" in words
    wrong = run("--dry-run", "--queue", "jobs")
    assert wrong.returncode == 2 and "--queue 'jobs' is not a queue; write it as arn:aws:sqs:" in wrong.stderr
    short = run("--dry-run", "--queue", jobs, "--timeout", "60")
    assert short.returncode == 1 and "--attributes VisibilityTimeout=360" in short.stderr
    bucket = run("--dry-run", "--bucket", "s3://answers/in", "--sink", "s3://answers/in/out")
    assert bucket.returncode == 2 and "would be asked again, for ever" in bucket.stderr
