"""The commands as a person types them: result on standard output, prose on standard error."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coldpress import cli
from coldpress.artifact import Artifact

COLDPRESS = str(Path(sys.executable).parent / "coldpress")


def run(*arguments: object, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COLDPRESS, *map(str, arguments)], capture_output=True, text=True, check=False, input=stdin
    )


def test_build_prints_the_path_and_shows_its_stages(tiny_folder: Path, tmp_path: Path) -> None:
    done = run("build", tiny_folder, "--out", tmp_path / "out", "--precision", "fp32")
    assert done.returncode == 0
    assert done.stdout == f"{tmp_path / 'out'}\n"
    for stage in ("intake", "optimize", "package", "verify", "zip"):
        assert stage in done.stderr
    for figure in ("fp32", "drift", "function.zip", "50.0 MB", "next: coldpress invoke"):
        assert figure in done.stderr


def test_build_as_json(tiny_folder: Path, tmp_path: Path) -> None:
    done = run(
        "build", tiny_folder, "--out", tmp_path / "out", "--precision", "fp16", "--package", "none", "--json"
    )
    manifest = json.loads(done.stdout)
    assert manifest["models"]["tiny-bert"]["recipe"]["precision"] == "fp16"
    assert not (tmp_path / "out/function.zip").exists()


def test_an_interruption_that_a_library_swallowed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A library's initialization in C turns KeyboardInterrupt into its own ImportError."""

    def hit_while_importing(**options: object) -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        except KeyboardInterrupt:
            raise ImportError("initialization failed") from None

    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(cli.app, "main", hit_while_importing)
    try:
        with pytest.raises(SystemExit) as left:
            cli.main()
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])
    assert left.value.code == 130
    assert capsys.readouterr().err == "interrupted; nothing was left behind\n"


def test_invoke(artifact: Artifact, tmp_path: Path) -> None:
    done = run("invoke", artifact.path, "--data", '{"text": "hi"}')
    assert done.returncode == 0
    assert len(json.loads(done.stdout)["embeddings"][0]) == 384
    assert "duration" in done.stderr
    assert "init" in done.stderr
    assert "peak memory" in done.stderr
    event = tmp_path / "event.json"
    event.write_text('{"text": "hi"}')
    assert run("invoke", artifact.path, "--event", event).stdout == done.stdout
    assert run("invoke", artifact.path, "--event", "-", stdin='{"text": "hi"}').stdout == done.stdout


def test_invoke_with_a_bad_request_prints_the_refusal(artifact: Artifact) -> None:
    done = run("invoke", artifact.path, "--data", "{broken")
    assert done.returncode == 0
    assert json.loads(done.stdout)["error"]["code"] == "invalid_json"


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (["invoke", "ARTIFACT"], 2, "--event FILE"),
        (["invoke", "ARTIFACT", "--data", "{}", "--event", "x"], 2, "--event FILE"),
        (["invoke", "ARTIFACT", "--event", "/no/such/file"], 2, "No such file"),
        (["invoke", "/no/such/artifact", "--data", "{}"], 1, "coldpress build"),
        (["invoke", "ARTIFACT", "--data", "{}", "--memory", "64"], 2, "128"),
        (["invoke", "ARTIFACT", "--data", '{"text": "hi"}', "--timeout", "0.1"], 0, "duration"),
        (["build", "demo:minilm"], 2, "--out"),
        (["build", "demo:minilm", "--out", "OUT", "--precision", "int4"], 2, "int8"),
        (["build", "demo:minilm", "--out", "OUT", "--pooling", "median"], 2, "median"),
        (["build", "demo:other", "--out", "OUT"], 1, "demo:minilm"),
        (["press"], 2, "No such command"),
    ],
)
def test_exit_codes(arguments: list[str], code: int, named: str, artifact: Artifact, tmp_path: Path) -> None:
    places = {"ARTIFACT": str(artifact.path), "OUT": str(tmp_path / "out")}
    done = run(*[places.get(argument, argument) for argument in arguments])
    assert done.returncode == code
    assert named in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_manifest_of_another_time(tmp_path: Path) -> None:
    (tmp_path / "coldpress.json").write_text('{"format": 99}')
    done = run("invoke", tmp_path, "--data", "{}")
    assert done.returncode == 1
    assert "99" in done.stderr
    assert "build it again" in done.stderr


def test_help_is_quick_to_import() -> None:
    """Neither torch nor any other heavy part is loaded to print help."""
    script = (
        "import sys, coldpress.cli; sys.exit(bool({'torch', 'transformers', 'onnx', 'numpy'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    assert "build" in run("--help").stdout


PROJECT = """\
[function]
code = "model.py:Model"
requirements = ["humanize==4.14.0"]
"""
COUNTS = """\
import humanize


class Model:
    def predict(self, inputs):
        for at in range(inputs["n"]):
            yield humanize.ordinal(at)
"""


def test_a_project(tmp_path: Path) -> None:
    (tmp_path / "coldpress.toml").write_text(PROJECT)
    (tmp_path / "model.py").write_text(COUNTS)
    done = run("build", tmp_path, "--out", tmp_path / "out", "--package", "none")
    assert done.returncode == 0, done.stderr
    for part in ("requirements, unpacked", "humanize 4.14.0", "of the limit", "class Model", "first run"):
        assert part in done.stderr
    assert json.loads(run("invoke", tmp_path / "out", "--data", '{"n": 2}').stdout) == ["0th", "1st"]
    streamed = run("invoke", tmp_path / "out", "--data", '{"n": 2}', "--stream")
    assert streamed.stdout == '"0th"\n"1st"\n'
    assert run("verify", tmp_path / "out").returncode == 0
    (tmp_path / "coldpress.toml").write_text(PROJECT.replace("requirements", "requires"))
    wrong = run("build", tmp_path, "--out", tmp_path / "out")
    assert wrong.returncode == 2
    assert "takes no 'requires'; did you mean 'requirements'?" in wrong.stderr


def test_init_classic(tmp_path: Path) -> None:
    new = tmp_path / "new" / "folder"
    done = run("init", "--classic", "--out", new)
    assert done.stdout == f"{new}/Dockerfile.classic\n"
    assert {path.name for path in new.iterdir()} == {"Dockerfile.classic", "handler.py"}
    again = run("init", "--classic", "--out", new)
    assert again.returncode == 1
    assert "is not overwritten" in again.stderr
    assert run("init", "demo:minilm", "--classic", "--out", tmp_path).returncode == 2
