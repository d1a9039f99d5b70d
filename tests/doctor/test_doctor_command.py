"""`coldpress doctor` as a person types it, and as a program reads it."""

import json
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from coldpress.artifact import Artifact
from coldpress.cli.doctor_table import findings_page
from coldpress.doctor.finding import Finding, few, green, red, yellow

COLDPRESS = str(Path(sys.executable).parent / "coldpress")


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COLDPRESS, "doctor", *map(str, arguments)], capture_output=True, text=True, check=False)


def test_one_line_where_there_is_nothing_to_do(measured: Artifact) -> None:
    done = run(measured.path)
    assert done.returncode == 0
    (line,) = done.stdout.splitlines()
    assert line.endswith("checks, nothing to do")
    assert int(line.split()[0]) >= 16
    everything = run(measured.path, "--all").stdout
    assert "glibc" in everything and line in everything


def test_red_ends_with_one(measured: Artifact) -> None:
    done = run(measured.path, "--snapstart", "--provisioned", 1, "--env", "AWS_REGION=eu-west-1", "--tmp", 600)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[2:] if line[:3] == "red"] == ["red", "red"]
    assert "fix:" in done.stdout and "why:" in done.stdout
    assert lines[-1].endswith("green") and "2 red" in lines[-1]
    assert "Traceback" not in done.stderr


def test_yellow_ends_with_zero(measured: Artifact) -> None:
    done = run(measured.path, "--memory", 4096)
    assert done.returncode == 0
    assert "1 yellow" in done.stdout
    assert "--memory 3008" in done.stdout


def test_as_json(measured: Artifact) -> None:
    done = run(measured.path, "--arch", "arm64", "--runtime", "python3.12", "--package", "zip", "--json")
    said = json.loads(done.stdout)
    assert done.returncode == 1
    assert said["red"] == 1
    assert said["checks"] == len(said["findings"])
    worst = said["findings"][0]
    assert worst["level"] == "red" and worst["name"] == "architecture"
    assert worst.keys() == {"level", "name", "what", "fix", "why"}


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (["--memory", "512"], 2, "coldpress doctor out --memory"),
        (["DIR", "--memory", "64"], 2, "128"),
        (["DIR", "--env", "NOTHING"], 2, "NOTHING"),
        (["DIR", "--runtime", "nodejs22.x"], 2, "python3.13"),
        (["/no/such/artifact"], 1, "coldpress build"),
    ],
)
def test_wrong_use(arguments: list[str], code: int, named: str, measured: Artifact) -> None:
    done = run(*[str(measured.path) if argument == "DIR" else argument for argument in arguments])
    assert done.returncode == code
    assert named in done.stderr
    assert not done.stdout


def test_the_machine_and_the_account(no_account: None) -> None:
    done = run()
    assert done.returncode == 0
    assert "AWS credentials" in done.stdout and "none found" in done.stdout
    assert "Python" in done.stdout


def _shown(findings: list[Finding], width: int = 80) -> str:
    console = Console(width=width, file=StringIO())
    console.print(findings_page(findings))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_the_worst_is_on_top_and_no_bracket_is_lost() -> None:
    page = _shown(
        [
            green("a", "well"),
            yellow("b", "so so [1]", why="it hurts", fix="pip install 'coldpress[aws]'"),
            red("c", "bad", why="it fails", fix="mend it"),
        ]
    )
    assert page.index("bad") < page.index("so so [1]") < page.index("well")
    assert "pip install 'coldpress[aws]'" in page
    assert page.rstrip().endswith("3 checks: 1 red, 1 yellow, 1 green")


def test_many_names_are_cut_short() -> None:
    assert few(["a", "b"]) == "a, b"
    assert few(list("abcde")) == "a, b, c and 2 more"
