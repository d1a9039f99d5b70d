"""Code of a person's own: pressed, asked, asked in batches, streamed from, and wrong in every way it may be."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import coldpress
from coldpress.artifact import Artifact
from coldpress.emulate.sandbox import Sandbox

TOML = '[function]\ncode = "model.py:Model"\n'
#: small and pure Python; and one with compiled parts
PURE, COMPILED = "humanize==4.14.0", "markupsafe==3.0.3"

Projects = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path) -> Projects:
    """Write a project: the class's body, what the toml says after its first lines, other files by name."""

    def write(code: str, toml: str = "", **files: str) -> Path:
        folder = tmp_path / "my-function"
        folder.mkdir(exist_ok=True)
        (folder / "coldpress.toml").write_text(TOML + toml)
        (folder / "model.py").write_text(code)
        for name, text in files.items():
            (folder / name).write_text(text)
        return folder

    return write


def press(folder: Path, **wishes: Any) -> Artifact:
    return coldpress.build(folder, out=folder.parent / "out", package="none", **wishes)


def ask(artifact: Artifact, *events: Any, env: dict[str, str] | None = None) -> list[Any]:
    with Sandbox(artifact.function_folder, python=artifact.python, env=env) as sandbox:
        return [json.loads(sandbox.invoke(json.dumps(event).encode()).body) for event in events]


ADDS = """
class Model:
    def load(self, ctx):
        self.one = 1

    def predict(self, inputs):
        return {"sum": inputs["a"] + self.one}
"""


def test_a_class_answers_alone_and_in_a_list(project: Projects) -> None:
    artifact = press(project(ADDS, "[samples]\nrequests = [{ a = 1 }]\n"))
    assert ask(artifact, {"a": 2}, [{"a": 3}, {"a": 4}]) == [{"sum": 3}, [{"sum": 4}, {"sum": 5}]]
    assert artifact.name == "my-function"
    assert artifact.manifest["custom"]["samples"] == [{"request": {"a": 1}, "answer": {"sum": 2}}]
    assert artifact.manifest["custom"]["packed"] == ["model.py"]
    assert artifact.manifest["python"] == "any"
    assert artifact.changed_files() == []
