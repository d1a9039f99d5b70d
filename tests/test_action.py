"""The GitHub Action: its inputs stay data, and its scripts, run as a runner runs them, do what it says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # its stubs are a package of their own
from click.testing import CliRunner

from coldpress.artifact import Artifact
from coldpress.cli import app

ROOT = Path(__file__).parent.parent
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: dict[str, dict[str, Any]] = {step["id"]: step for step in ACTION["runs"]["steps"] if "id" in step}
PAGE = (ROOT / "docs" / "github-action.md").read_text()


def run_step(name: str, folder: Path, inputs: dict[str, str], **more: str) -> tuple[dict[str, str], str]:
    """A step as GitHub runs it, with its own variables; its outputs, and what it printed."""
    values = {key: one["default"] for key, one in ACTION["inputs"].items()} | inputs

    def filled(text: str) -> str:
        found = re.fullmatch(r"\$\{\{ (inputs|github)\.([\w-]+) \}\}", text)
        assert found, text
        return str(ROOT) if found[1] == "github" else values[found[2]]

    script, outputs = folder / f"{name}.sh", folder / f"{name}.outputs"
    script.write_text(STEPS[name]["run"])
    outputs.touch()
    env = os.environ | {key: filled(text) for key, text in STEPS[name]["env"].items()} | more
    env |= {"GITHUB_OUTPUT": str(outputs), "PATH": f"{Path(sys.executable).parent}:{env['PATH']}"}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise StepFailed(done.stdout + done.stderr)
    return dict(line.split("=", 1) for line in outputs.read_text().splitlines()), done.stdout + done.stderr


class StepFailed(Exception):
    pass


def test_inputs_stay_data() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), step
        assert "run" not in step or step["shell"] == "bash"
        for name in step.get("env", {}):
            uses = re.findall(rf"(.)\$(?:{name}\b|\{{{name}(:\+|.))", step["run"])
            assert uses, f"{name} is not used"
            # Quoted, or only asked whether there is anything: it may hold spaces, patterns, whatever people write.
            assert all(before == '"' or within == ":+" for before, within in uses), name


def test_everything_is_described_and_used() -> None:
    text = (ROOT / "action.yml").read_text()
    for name, one in ACTION["inputs"].items():
        assert len(one["description"]) > 10 and "default" in one
        assert re.search(rf"inputs\.{name}\b", text), f"{name} is not used"
        assert f"| `{name}` |" in PAGE
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(ACTION["inputs"])
    for name, one in ACTION["outputs"].items():
        found = re.fullmatch(r"\$\{\{ steps\.(\w+)\.outputs\.([\w-]+) \}\}", one["value"])
        assert found and found[2] == name and f"{name}=" in STEPS[found[1]]["run"]
        assert len(one["description"]) > 10 and f"| `{name}` |" in PAGE


def test_the_example_workflow_fits() -> None:
    (workflow,) = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL))
    (job,) = workflow["jobs"].values()
    assert job["permissions"] == {"contents": "read", "id-token": "write"}
    (ours,) = (step for step in job["steps"] if step.get("id") == "coldpress")
    assert set(ours["with"]) <= set(ACTION["inputs"])
    assert set(re.findall(r"steps\.coldpress\.outputs\.([\w-]+)", PAGE)) == set(ACTION["outputs"])
    assert not [step["run"] for step in job["steps"] if "${{" in step.get("run", "")]
    check_options(f"coldpress build {ours['with']['build-args']}\ncoldpress deploy {ours['with']['deploy-args']}")
    for block in re.findall(r"```json\n(.*?)```", PAGE, flags=re.DOTALL):
        json.loads(block)


def test_its_options_exist() -> None:
    asked = [check_options(step.get("run", "")) for step in ACTION["runs"]["steps"]]
    assert {command for names in asked for command in names} == {"build", "size", "bench", "deploy", "status"}


def check_options(script: str) -> list[str]:
    """The commands of ours in a script; whatever options they are given, their help must know."""
    found = re.findall(r"coldpress (\w+) ([^|)\n]*)", script)
    for command, arguments in found:
        help_text = CliRunner().invoke(app, [command, "--help"]).output
        for option in re.findall(r"--[a-z][\w-]*", arguments):
            assert re.search(rf"{option}\b", help_text), f"coldpress {command} has no {option}"
    return [command for command, _ in found]


def test_what_is_installed_is_there() -> None:
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for named in re.findall(r"\[((?:\w+,)+\w+)\]", (ROOT / "action.yml").read_text()):
        assert set(named.split(",")) <= set(extras)
    assert (ROOT / "constraints.txt").is_file()


@pytest.mark.slow
def test_it_builds_and_measures(tmp_path: Path, tiny_folder: Path) -> None:
    inputs = {
        "model": str(tiny_folder),
        "out": "an artifact; touch broken",
        "name": "tiny",
        "build-args": "--quick\n  --engine press",
        "budget": "cold=60s,p95@16 tokens=10s",
    }
    outputs, _ = run_step("build", tmp_path, inputs)
    artifact = Artifact.open(tmp_path / inputs["out"])
    assert artifact.name == "tiny" and artifact.zip is not None
    assert outputs == {"size": str(artifact.zip.stat().st_size)}
    outputs, said = run_step("bench", tmp_path, inputs)
    measured = json.loads((artifact.path / "bench.json").read_text())
    assert outputs == {"cold-start": str(measured["cold"]["of"]["p50"])} and float(outputs["cold-start"]) > 1
    assert "cold start, median" in said
    with pytest.raises(StepFailed, match="zip"):
        run_step("bench", tmp_path, inputs | {"budget": "zip=1KB"})
    assert not (tmp_path / "broken").exists()


@pytest.mark.parametrize(
    ("step", "name"),
    [
        *(("build", name) for name in ("model", "out", "name", "build-args")),
        *(("bench", name) for name in ("out", "budget")),
        *(("deploy", name) for name in ("out", "name", "region", "deploy-args")),
    ],
)
def test_words_never_become_commands(step: str, name: str, tmp_path: Path) -> None:
    hostile = "$(touch broken); touch broken\ntouch broken `touch broken` ${HOME} *"
    with pytest.raises(StepFailed, match="Error: "):  # ours: there is nothing to build, measure or deploy
        run_step(step, tmp_path, {name: hostile})
    assert not (tmp_path / "broken").exists()
    assert not (tmp_path / f"{step}.outputs").read_text()


def test_it_deploys(tmp_path: Path, account: str, tiny_artifact: Artifact) -> None:
    inputs = {"out": str(tiny_artifact.path), "name": "tiny", "region": "eu-west-1"}
    looked, said = run_step("deploy", tmp_path, inputs | {"deploy-args": f"--endpoint-url {account} --dry-run"})
    assert looked == {"url": ""}
    assert "create" in said and "function tiny" in said
    assert STEPS["deploy"]["if"] == "inputs.deploy == 'true'" and ACTION["inputs"]["deploy"]["default"] == "false"


def test_the_url_is_known_where_nothing_changes(tmp_path: Path, account: str, tiny_artifact: Artifact) -> None:
    """moto runs no functions, so nobody checks answers here."""
    inputs = {"out": str(tiny_artifact.path), "name": "tiny", "deploy-args": "--no-check"}
    first, _ = run_step("deploy", tmp_path, inputs, AWS_ENDPOINT_URL=account)
    assert first["url"].startswith("https://")
    (tmp_path / "deploy.outputs").unlink()
    again, said = run_step("deploy", tmp_path, inputs, AWS_ENDPOINT_URL=account)
    assert again == first and "nothing to do" in said
