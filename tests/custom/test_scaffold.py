"""coldpress init: what it writes builds and answers as it is, and nothing that is there is touched."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import coldpress
from coldpress.custom.project import read_project
from coldpress.custom.scaffold import _SHAPES, write_scaffold
from coldpress.emulate.sandbox import Sandbox
from coldpress.errors import TargetError
from coldpress.intake.decide import TASKS

COLDPRESS = str(Path(sys.executable).parent / "coldpress")


def run(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COLDPRESS, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=cwd)


def test_without_a_model(tmp_path: Path) -> None:
    done = run("init", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["coldpress.toml", "model.py"]
    built = run("build", "--out", "out", cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    assert "1 samples answered" in built.stderr
    asked = run("invoke", "out", "--data", '{"name": "you"}', cwd=tmp_path)
    assert json.loads(asked.stdout) == {"said": "hello, you"}
    refused = run("invoke", "out", "--data", "{}", cwd=tmp_path)
    assert json.loads(refused.stdout)["error"]["message"] == "the field 'name' is missing"
    again = run("init", cwd=tmp_path)
    assert again.returncode == 1
    assert "coldpress.toml is there already" in again.stderr


def test_for_the_task_of_a_model(tmp_path: Path, tiny_folder: Path) -> None:
    write_scaffold(tmp_path, str(tiny_folder))
    assert Path(str(read_project(tmp_path).source)).samefile(tiny_folder)
    artifact = coldpress.build(tmp_path, out=tmp_path / "out", precision="fp32", quick=True, package="none")
    assert artifact.name == "tiny-bert"
    with Sandbox(artifact.function_folder, python=artifact.python) as sandbox:
        assert len(json.loads(sandbox.invoke(b'{"text": "hi"}').body)["embeddings"][0]) == 64


@pytest.mark.parametrize("there", ["coldpress.toml", "model.py"])
def test_nothing_is_overwritten(there: str, tmp_path: Path) -> None:
    (tmp_path / there).write_text("mine")
    with pytest.raises(TargetError, match=there):
        write_scaffold(tmp_path, None)
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "mine"


@pytest.mark.parametrize("task", [task for task in TASKS if task != "tensors"])
def test_every_task_has_a_class_that_asks_it(task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the model: it must be asked as the sample says."""
    shape = _SHAPES[task]
    monkeypatch.setattr(
        "coldpress.custom.scaffold._detected", lambda model: (task, dict(shape.request), shape.answer)
    )
    write_scaffold(tmp_path, "some/model")
    project = read_project(tmp_path)
    assert project.samples == [shape.request]
    assert project.source == "some/model"
    scope: dict[str, Any] = {}
    exec((tmp_path / "model.py").read_text(), scope)
    model = scope["Model"]()

    class Context:
        def task(self, name: str) -> Any:
            assert name == "model"
            return lambda request: {"asked": request}

    model.load(Context())
    assert model.predict({**shape.request, "other": 1}) == {"asked": shape.request}
