"""The tree at the task root, and that two builds of one recipe are the same bytes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from coldpress.artifact import Artifact
from coldpress.package.bytecode import interpreters


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_lies_at_the_task_root(artifact: Artifact) -> None:
    root = artifact.function_folder
    assert names(root) == ["bootstrap", "coldpress_runtime", "handler.py", "lib", "licenses", "models"]
    assert names(root / "models/minilm") == ["model.press", "task.json"]
    assert names(root / "lib") == ["libpress.so"]


def test_what_a_graph_carries(graph_artifact: Artifact) -> None:
    root = graph_artifact.function_folder
    assert names(root / "models/minilm") == ["model.onnx", "task.json", "tokenizer.json", "weights.bin"]
    assert names(root / "lib") == ["libonnxruntime.so", "tokenizers.abi3.so"]


def test_the_sandbox_user_can_read_everything(artifact: Artifact) -> None:
    for path in artifact.function_folder.rglob("*"):
        mode = path.stat().st_mode & 0o777
        assert mode == (0o755 if path.is_dir() or path.name == "bootstrap" else 0o644), path


def test_bytecode_for_every_python_that_is_here(artifact: Artifact) -> None:
    cache = artifact.function_folder / "coldpress_runtime/__pycache__"
    for version in interpreters():
        tag = f"cpython-{version.replace('.', '')}"
        data = (cache / f"bootstrap.{tag}.pyc").read_bytes()
        assert int.from_bytes(data[4:8], "little") == 0b01, "hash-based and unchecked"
        assert b"/var/task/coldpress_runtime/bootstrap.py" in data


def test_the_manifest_names_no_clock_and_no_host(artifact: Artifact) -> None:
    text = (artifact.path / "coldpress.json").read_text()
    assert os.uname().nodename not in text
    assert str(artifact.path) not in text
    manifest = json.loads(text)
    assert manifest["files"]["function/bootstrap"]
    assert manifest["files"]["function.zip"]
    assert artifact.changed_files() == []


def test_a_changed_file_is_seen(tiny_artifact: Artifact) -> None:
    handler = tiny_artifact.function_folder / "handler.py"
    before = handler.read_text()
    handler.write_text(before + "# changed\n")
    try:
        assert tiny_artifact.changed_files() == ["function/handler.py"]
    finally:
        handler.write_text(before)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["press", "onnxruntime"])
def test_two_builds_are_the_same_bytes(engine: str, tmp_path: Path) -> None:
    """Other folder, other umask, other hash seed, other time zone: the same artifact."""
    seen = []
    for place, mask, seed in (("a", 0o022, "1"), ("somewhere/else", 0o077, "2")):
        out = tmp_path / place / "out"
        build = f"coldpress.build('demo:minilm', out={str(out)!r}, engine={engine!r}, quick=True)"
        script = f"import os; os.umask({mask}); import coldpress; {build}"
        env = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "TZ": "Asia/Tokyo" if seed == "2" else "UTC",
            "COLDPRESS_CACHE": str(tmp_path / f"cache-{seed}"),  # nothing of the first is used by the second
        }
        subprocess.run([sys.executable, "-c", script], check=True, env=env, cwd=tmp_path)
        seen.append(
            {
                path.relative_to(out).as_posix(): path.read_bytes()
                for path in out.rglob("*")
                if path.is_file() and path.name != "measured.json"
            }
        )
    assert seen[0].keys() == seen[1].keys()
    assert [name for name in seen[0] if seen[0][name] != seen[1][name]] == []
