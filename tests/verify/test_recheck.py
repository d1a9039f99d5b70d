"""An artifact checked again: by its own files and answers, and as other CPUs, each engine for real."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import coldpress
from coldpress.artifact import Artifact
from coldpress.emulate.cpus import CPUS
from coldpress.errors import UsageError
from coldpress.package.elf import machine
from coldpress.progress import Silent
from coldpress.verify.recheck import Check, recheck

COLDPRESS = str(Path(sys.executable).parent / "coldpress")


def needs_emulation() -> None:
    missing = [program for _, program, _ in CPUS.values() if shutil.which(program) is None]
    if missing or shutil.which("apt-get") is None:
        pytest.skip(f"not installed: {', '.join(missing) or 'apt-get'}")


def between(checks: list[Check]) -> dict[str, Check]:
    return {check.what.split()[0]: check for check in checks if "against native" in check.what}


@pytest.mark.slow
def test_press_gives_the_same_bits_everywhere(artifact: Artifact) -> None:
    needs_emulation()
    checks = recheck(artifact, ["native", "avx2", "arm64"], None, Silent())
    assert all(check.passed for check in checks)
    assert [check.identical for check in between(checks).values()] == [True, True]


@pytest.mark.slow
def test_a_graph_in_floats_agrees_everywhere(tiny_artifact: Artifact) -> None:
    needs_emulation()
    assert tiny_artifact.manifest["engine"] == "onnxruntime"
    checks = between(recheck(tiny_artifact, ["avx2", "arm64"], None, Silent()))
    assert max(check.value or 0 for check in checks.values()) <= 1e-4


@pytest.mark.slow
def test_a_graph_in_int8_agrees_nearly_everywhere(graph_artifact: Artifact) -> None:
    """Roundings that fall the other way lead to more of them; how far, is written in docs/decisions."""
    needs_emulation()
    checks = between(recheck(graph_artifact, ["avx2", "arm64"], None, Silent()))
    assert (checks["avx2"].value or 0) <= 0.015
    assert (checks["arm64"].value or 0) <= 0.03


@pytest.mark.slow
def test_a_convolutional_network_agrees_everywhere(tmp_path: Path) -> None:
    needs_emulation()
    torch.manual_seed(0)
    network = nn.Sequential(
        *(nn.Conv2d(3, 16, 3, 2), nn.ReLU(), nn.Conv2d(16, 32, 3, 2), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 10)),
    )
    pressed = coldpress.build(network, out=tmp_path / "out", inputs=torch.randn(1, 3, 64, 64), precision="int8")
    assert pressed.manifest["models"]["sequential"]["recipe"]["precision"] == "int8"
    checks = between(recheck(pressed, ["avx2", "arm64"], None, Silent()))
    assert max(check.value or 0 for check in checks.values()) <= 0.01


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["press", "onnxruntime"])
def test_a_function_for_graviton(engine: str, tiny_folder: Path, tmp_path: Path) -> None:
    """Built here, with the other architecture's libraries; the same models, and answers as emulated."""
    pressed = coldpress.build(
        tiny_folder, out=tmp_path / "out", arch="arm64", engine=engine, quick=True, max_drift=1
    )
    assert pressed.manifest["arch"] == "arm64"
    for library in (pressed.function_folder / "lib").iterdir():
        assert machine(library.read_bytes()) == "arm64"
    needs_emulation()
    assert all(check.passed for check in recheck(pressed, ["native", "arm64"], None, Silent()))


def verify(*arguments: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([COLDPRESS, "verify", *map(str, arguments)], capture_output=True, text=True, check=False)


def test_the_command(tiny_artifact: Artifact, tmp_path: Path) -> None:
    samples = tmp_path / "samples.jsonl"
    samples.write_text('{"text": "one"}\n{"text": "two"}\n')
    done = verify(tiny_artifact.path, "--json", "--samples", samples)
    assert done.returncode == 0, done.stderr
    assert [check["passed"] for check in json.loads(done.stdout)] == [True, True]


def test_a_changed_artifact_is_refused(tiny_artifact: Artifact, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tiny_artifact.path, copy)
    (copy / "function/handler.py").write_text("# not what it was\n")
    done = verify(copy)
    assert done.returncode == 1
    assert "files are what the manifest says" in done.stderr
    manifest = json.loads((copy / "coldpress.json").read_text())
    manifest["models"]["tiny-bert"]["samples"][0]["answer"]["embeddings"][0][0] += 0.5
    (copy / "coldpress.json").write_text(json.dumps(manifest))
    assert "answers are those in the manifest" in verify(copy).stderr


def test_what_is_no_cpu(tiny_artifact: Artifact) -> None:
    with pytest.raises(UsageError, match="--cpu has 'mips'; it can be: native, avx2, arm64"):
        recheck(tiny_artifact, ["mips"], None, Silent())
