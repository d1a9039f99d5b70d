"""The smoke test for people with an account: tried out on the local Lambda, its sweeping against moto."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from deploy_account import connect, deploy, pressed
from rich.console import Console
from test_deploy_local import local as local

from aws_smoke import check_cap, leftovers, smoke, take_away
from coldpress.artifact import Artifact
from coldpress.bench.result import Bench
from coldpress.deploy.aws import connect as connect_local
from coldpress.deploy.plan import plan
from coldpress.deploy.wanted import Wanted
from coldpress.errors import DeployError, UsageError

QUIET = Console(quiet=True)


def test_deployed_measured_and_gone(local: str, measured: Artifact) -> None:
    aws = connect_local(None, local)
    bench = Bench.load(measured.path)
    found = smoke(aws, measured, bench, 0.5, 2, 5, QUIET)
    assert len(found.cold_ms) == 2 and found.name.startswith("coldpress-smoke-")
    assert aws.look("")["functions"] == []


def test_whatever_happens_it_is_taken_away(
    local: str, measured: Artifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    aws = connect_local(None, local)

    def broken(*arguments: object, **more: object) -> None:
        raise DeployError("planned")

    monkeypatch.setattr("aws_smoke.run_remote", broken)
    with pytest.raises(DeployError, match="planned"):
        smoke(aws, measured, Bench.load(measured.path), 0.5, 2, 5, QUIET)
    assert aws.look("")["functions"] == []


def test_what_a_broken_deployment_left_goes_too(account: str, tmp_path: Path) -> None:
    aws = connect(account)
    wanted = Wanted("coldpress-smoke-0", pressed(tmp_path / "out", b"one"))
    for step in plan(aws, wanted).steps[:2]:  # its role and its log
        assert step.act is not None
        step.act()
    assert leftovers(aws, wanted.name) == [
        "log /aws/lambda/coldpress-smoke-0",
        "role coldpress-coldpress-smoke-0-eu-west-1",
    ]
    take_away(aws, wanted.name, QUIET)
    assert leftovers(aws, wanted.name) == []
    deploy(account, wanted)
    take_away(aws, wanted.name, QUIET)
    assert leftovers(aws, wanted.name) == []


def test_the_cap_holds_for_the_worst(account: str, tmp_path: Path) -> None:
    artifact = pressed(tmp_path / "out", b"one")
    check_cap(connect(account), 0.1, 400, artifact)
    with pytest.raises(UsageError, match=r"could cost \$\d+\.\d\d .* and the cap is \$0.01"):
        check_cap(connect(account), 0.01, 400, artifact)
    for wrong in (0.0, -1.0, float("nan")):
        with pytest.raises(UsageError, match="the cap is"):
            check_cap(connect(account), wrong, 1, artifact)


def test_the_script_writes_both_figures(local: str, measured: Artifact, tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "benchmarks" / "aws_smoke.py"
    out, copy = tmp_path / "aws.json", tmp_path / "copy"
    shutil.copytree(measured.path, copy)
    asked = [
        "--like",
        str(copy),
        "--cold",
        "2",
        "--warm",
        "3",
        "--cap",
        "1",
        "--endpoint-url",
        local,
        "--out",
        str(out),
    ]
    done = subprocess.run([sys.executable, str(script), *asked], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    written = json.loads(out.read_text())
    assert "the local Lambda" in written["there"]["where"] and "not Lambda" in written["local"]["where"]
    assert written["there"]["ms"]["cold start"]["p50"] > 0 and written["there"]["cost_usd"] < 0.01
    assert "everything is deleted" in done.stderr and "local p50" in done.stdout
