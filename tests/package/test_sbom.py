"""The bill of materials: valid, complete, the same each time."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

import coldpress
from coldpress.artifact import SBOM, Artifact


def bill(artifact: Artifact) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((artifact.path / SBOM).read_text())
    return content


def test_it_is_valid(either: Artifact) -> None:
    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str((either.path / SBOM).read_text())
    assert problem is None, str(problem)


def test_every_wheel_library_and_model_file_is_in_it(graph_artifact: Artifact) -> None:
    components = bill(graph_artifact)["components"]
    by_name = {one["name"]: one for one in components}
    for name, version in graph_artifact.manifest["versions"].items():
        assert by_name[name]["version"] == version
        assert by_name[name]["licenses"]
    assert by_name["onnxruntime"]["licenses"] == [{"license": {"name": "MIT License"}}]
    (model,) = [one for one in components if one["type"] == "machine-learning-model"]
    assert model["licenses"] == [{"expression": "Apache-2.0"}]
    files = {one["name"]: one for one in [*components, *model["components"]] if one["type"] == "file"}
    for path in (graph_artifact.function_folder / "lib").iterdir():
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert files[f"lib/{path.name}"]["hashes"] == [{"alg": "SHA-256", "content": digest}]
    assert "source/model.safetensors" in files
    assert any(name.startswith("models/") for name in files)


def test_licences_travel_with_the_function(graph_artifact: Artifact, artifact: Artifact) -> None:
    folder = graph_artifact.function_folder / "licenses"
    assert {path.stem for path in folder.iterdir()} == {"coldpress", "onnxruntime", "tokenizers"}
    assert "THIRD PARTY" in (folder / "onnxruntime.txt").read_text().upper().replace("-", " ")
    assert "Apache License" in (artifact.function_folder / "licenses/coldpress.txt").read_text()


@pytest.mark.slow
def test_it_is_the_same_each_time(tiny_folder: Path, tmp_path: Path) -> None:
    bills = [
        coldpress.build(tiny_folder, out=tmp_path / name, quick=True, package="none", name="same")
        for name in ("one", "two")
    ]
    assert bill(bills[0]) == bill(bills[1])
