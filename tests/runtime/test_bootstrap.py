"""The loop, in a real process: loading, lazily and not, its errors, and every Python that is here."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coldpress.artifact import Artifact
from coldpress.emulate.sandbox import Sandbox
from coldpress.errors import FunctionError
from coldpress.package.bytecode import interpreters

EVENT = b'{"text": ["hello", "a longer text than the other one"]}'


@pytest.fixture
def broken(artifact: Artifact, tmp_path: Path) -> Path:
    """A copy of the function that a test may damage."""
    return Path(shutil.copytree(artifact.function_folder, tmp_path / "function"))


@pytest.fixture
def broken_graph(graph_artifact: Artifact, tmp_path: Path) -> Path:
    return Path(shutil.copytree(graph_artifact.function_folder, tmp_path / "graph"))


@pytest.mark.parametrize("load", ["init", "first-request"])
def test_loading_now_or_later_gives_the_same_answer(load: str, either: Artifact) -> None:
    with Sandbox(either.function_folder, env={"COLDPRESS_LOAD": load}) as sandbox:
        first, second = sandbox.invoke(EVENT), sandbox.invoke(EVENT)
    assert first.ok
    assert first.body == second.body == _in_process(either)
    assert first.init_ms is not None
    if load == "first-request":
        assert first.duration_ms > second.duration_ms, "the model must be opened once, by the first request"


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13", "3.14"])
def test_every_python_gives_the_same_bytes(version: str, either: Artifact) -> None:
    found = interpreters()
    if version not in found:
        pytest.skip(f"Python {version} is not on this machine")
    assert version in either.manifest["bytecode"]
    root = either.function_folder
    with Sandbox(root, command=[str(root / "bootstrap"), found[version]]) as sandbox:
        assert sandbox.invoke(EVENT).body == _in_process(either)


def load_error(root: Path) -> str:
    with Sandbox(root) as sandbox, pytest.raises(FunctionError, match="could not be loaded") as caught:
        sandbox.invoke(EVENT)
    return str(caught.value)


@pytest.mark.parametrize(
    ("part", "named"),
    [
        ("lib/libpress.so", "libpress.so is in none of"),
        ("models/minilm/task.json", "task.json cannot be read"),
        ("models/minilm/model.press", "model.press: cannot be opened"),
    ],
)
def test_a_missing_part_is_an_init_error_that_names_it(part: str, named: str, broken: Path) -> None:
    (broken / part).unlink()
    assert named in load_error(broken)


@pytest.mark.parametrize(
    ("part", "named"),
    [
        ("lib/libonnxruntime.so", "libonnxruntime.so is in none of"),
        ("lib/tokenizers.abi3.so", "tokenizers.abi3.so is in none of"),
        ("models/minilm/model.onnx", "model.onnx"),
        ("models/minilm/weights.bin", "weights.bin"),
        ("models/minilm/tokenizer.json", "No such file"),
    ],
)
def test_a_missing_part_of_a_graph_too(part: str, named: str, broken_graph: Path) -> None:
    (broken_graph / part).unlink()
    assert named in load_error(broken_graph)


@pytest.mark.parametrize(("kept", "named"), [(1000, "cut off"), (10, "too short"), (0, "too short")])
def test_a_truncated_model_is_an_init_error(kept: int, named: str, broken: Path) -> None:
    model = broken / "models/minilm/model.press"
    model.write_bytes(model.read_bytes()[:kept])
    assert named in load_error(broken)


def test_a_load_that_fails_later_fails_the_request_and_not_the_sandbox(broken: Path) -> None:
    hidden = broken / "hidden"
    model = broken / "models/minilm/model.press"
    model.rename(hidden)
    with Sandbox(broken, env={"COLDPRESS_LOAD": "first-request"}) as sandbox:
        failed = sandbox.invoke(EVENT)
        assert not failed.ok
        assert json.loads(failed.body)["stackTrace"] == []
        assert "Traceback" in sandbox.log()
        hidden.rename(model)
        assert sandbox.invoke(EVENT).ok


@pytest.mark.parametrize(
    "env",
    [{"COLDPRESS_LOAD": "never"}, {"COLDPRESS_THREADS": "zero"}, {"COLDPRESS_TOKEN_SHA256": "abc"}],
    ids=lambda env: next(iter(env)),
)
def test_a_wrong_setting_is_an_init_error(env: dict[str, str], artifact: Artifact) -> None:
    with (
        Sandbox(artifact.function_folder, env=env) as sandbox,
        pytest.raises(FunctionError, match=next(iter(env))),
    ):
        sandbox.invoke(EVENT)


def test_threads_follow_the_memory_size(either: Artifact) -> None:
    cores = len(os.sched_getaffinity(0))
    for memory, expected in ((128, 1), (1769, min(2, cores)), (10240, min(6, cores))):
        with Sandbox(either.function_folder, memory_mb=memory) as sandbox:
            assert sandbox.invoke(EVENT).ok
            threads = len(list(Path(f"/proc/{sandbox.pid}/task").iterdir()))
        assert threads == expected


def test_without_a_runtime_api_it_says_what_it_is(artifact: Artifact) -> None:
    done = subprocess.run(
        [artifact.function_folder / "bootstrap"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"]},
    )
    assert done.returncode == 2
    assert "AWS_LAMBDA_RUNTIME_API is not set" in done.stderr


def test_it_runs_where_nothing_can_be_written(broken: Path) -> None:
    for path in [broken, *broken.rglob("*")]:
        path.chmod(0o555 if path.is_dir() or path.name == "bootstrap" else 0o444)
    before = sorted(broken.rglob("*"))
    with Sandbox(broken) as sandbox:
        assert sandbox.invoke(EVENT).ok
    assert sorted(broken.rglob("*")) == before, "bytecode was written at run time"


def test_a_log_in_json(broken: Path) -> None:
    (broken / "models/minilm/model.press").write_text("{}")
    env = {"COLDPRESS_LOAD": "first-request", "COLDPRESS_LOG": "json"}
    with Sandbox(broken, env=env) as sandbox:
        assert not sandbox.invoke(EVENT).ok
        entries = [json.loads(line) for line in sandbox.log().splitlines()]
        (entry,) = [one for one in entries if "_aws" not in one]  # beside the figures, which such a log has too
    assert entry["level"] == "ERROR"
    assert "Traceback" in entry["stack"]


def _in_process(artifact: Artifact) -> bytes:
    from coldpress_runtime.function import Function

    return Function(str(artifact.function_folder)).answer(EVENT).encode()


def test_the_environment_changes_before_there_is_a_second_thread(graph_artifact: Artifact) -> None:
    """Libraries read it while they load; changed meanwhile by another thread, the process would crash, seldom."""
    code = (
        "import _thread, sys\n"
        "seen = []\n"
        "sys.addaudithook(lambda event, _: event == 'os.putenv' and seen.append(_thread.get_ident()))\n"
        "sys.path.append(sys.argv[1])\n"
        "from coldpress_runtime.function import Function\n"
        "Function(sys.argv[1]).call({'text': 'hi'})\n"
        "print(len(seen), set(seen) == {_thread.get_ident()})\n"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(graph_artifact.function_folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "2 True\n"
