"""Bulk on this machine: real files, the real function in the local Lambda, by the API and by the command."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bulk_lines import digest, texts, write_lines

from coldpress.artifact import Artifact
from coldpress.bulk import local
from coldpress.bulk.job import Chunk
from coldpress.bulk.local import map_local
from coldpress.bulk.workers import Asked, Workers
from coldpress.errors import UsageError

BAD = ['{"text": "good"}', "{broken", "", '{"text": 7}', "[]", '{"text": "good"}']


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """With an input that has wrong lines, one without a last newline, and an empty one."""
    write_lines(tmp_path / "in" / "many.jsonl", texts(700))
    (tmp_path / "in" / "bad.jsonl").write_text("\n".join(BAD) + "\n")
    (tmp_path / "in" / "deep").mkdir()
    (tmp_path / "in" / "deep" / "open.jsonl").write_text('{"text": "a"}\r\n{"text": "b"}')
    (tmp_path / "in" / "empty.jsonl").write_text("")
    return tmp_path


def answers(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_line_n_answers_line_n(artifact: Artifact, room: Path) -> None:
    result = map_local(str(room / "in"), room / "out", artifact.path, chunk_bytes=4096)
    assert result.whole and (result.lines, result.failed_lines) == (700 + 6 + 2, 4)
    assert sorted(digest(room / "out")) == ["bad.jsonl", "deep/open.jsonl", "empty.jsonl", "many.jsonl"]
    assert sorted(result.outputs) == sorted(str(room / "out" / name) for name in digest(room / "out"))
    fn = artifact.function()
    asked = texts(700)
    many = answers(room / "out" / "many.jsonl")
    assert len(many) == 700
    for at in (0, 1, 99, 350, 698, 699):
        assert many[at] == fn({"text": asked[at]})
    bad = answers(room / "out" / "bad.jsonl")
    assert bad[0] == bad[5] == fn({"text": "good"})
    codes = [one["error"]["code"] for one in bad[1:5]]
    assert codes == ["invalid_json", "invalid_json", "wrong_type", "wrong_type"]
    assert answers(room / "out" / "deep" / "open.jsonl") == [fn({"text": "a"}), fn({"text": "b"})]
    assert (room / "out" / "empty.jsonl").read_bytes() == b""
    whole = map_local(str(room / "in"), room / "other", artifact.path, chunk_bytes=1 << 20, concurrency=1)
    assert whole.whole and digest(room / "other") == digest(room / "out")


def test_a_job_that_is_there(artifact: Artifact, room: Path) -> None:
    first = map_local(f"{room}/in/many.jsonl", room / "out", artifact.path)
    made = digest(room / "out")
    with pytest.raises(UsageError, match=r"holds a job already, all of it is done: .*--resume"):
        map_local(f"{room}/in/many.jsonl", room / "out", artifact.path)
    again = map_local(f"{room}/in/many.jsonl", room / "out", artifact.path, resume=True)
    assert again.done_before == again.chunks and again.lines == first.lines and digest(room / "out") == made
    with pytest.raises(UsageError, match="cut by --chunk"):
        map_local(f"{room}/in/many.jsonl", room / "out", artifact.path, resume=True, chunk_bytes=2048)
    write_lines(room / "in" / "many.jsonl", texts(700, seed=5))
    with pytest.raises(UsageError, match=r"many\.jsonl has changed"):
        map_local(f"{room}/in/many.jsonl", room / "out", artifact.path, resume=True)
    assert digest(room / "out") == made


def test_another_model_does_not_go_on(artifact: Artifact, room: Path) -> None:
    map_local(f"{room}/in/bad.jsonl", room / "out", artifact.path)
    other = room / "model"
    shutil.copytree(artifact.path, other)
    manifest = other / "coldpress.json"
    manifest.write_text(json.dumps({**artifact.manifest, "arch": artifact.manifest["arch"], "other": 1}))
    with pytest.raises(UsageError, match="begun with another model"):
        map_local(f"{room}/in/bad.jsonl", room / "out", other, resume=True)


def test_answers_are_not_overwritten(artifact: Artifact, room: Path) -> None:
    (room / "out").mkdir()
    (room / "out" / "bad.jsonl").write_text("mine\n")
    with pytest.raises(UsageError, match=r"bad\.jsonl is there already"):
        map_local(f"{room}/in/bad.jsonl", room / "out", artifact.path)
    assert (room / "out" / "bad.jsonl").read_text() == "mine\n"


def test_what_fails_is_told_and_tried_again(
    artifact: Artifact, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stretch that got no answers (a stand-in fails it) leaves its file unfinished, and nothing else."""
    asking = Workers._ask

    def ask(workers: Workers, connection: Any, chunk: Chunk) -> Asked:
        if chunk.part == "many.jsonl/part-00003.jsonl":
            return Asked(chunk, problem="planned")
        return asking(workers, connection, chunk)

    monkeypatch.setattr(Workers, "_ask", ask)
    said: dict[str, Any] = {"chunk_bytes": 1024}
    result = map_local(str(room / "in"), room / "out", artifact.path, **said)
    assert [(one.part, one.reason) for one in result.failures] == [("many.jsonl/part-00003.jsonl", "planned")]
    assert result.done == result.chunks - 1 and len(result.outputs) == 3
    assert not (room / "out" / "many.jsonl").exists()
    monkeypatch.setattr(local, "TOLERATED_PERCENT", 0)
    stopped = map_local(str(room / "in"), room / "out", artifact.path, resume=True)
    assert [one.reason for one in stopped.failures] == ["planned"]
    monkeypatch.undo()
    done = map_local(str(room / "in"), room / "out", artifact.path, resume=True)
    assert done.whole and done.done_before == done.chunks - 1 and len(answers(room / "out" / "many.jsonl")) == 700


def test_a_function_that_does_not_know_it(artifact: Artifact, room: Path) -> None:
    """As one that was built before: it takes the event for a request."""
    old = room / "old"
    shutil.copytree(artifact.path, old)
    events = old / "function" / "coldpress_runtime" / "events" / "__init__.py"
    shutil.rmtree(events.parent / "__pycache__", ignore_errors=True)
    for compiled in events.parent.glob("__init__*.pyc"):
        compiled.unlink()
    events.write_text(events.read_text().replace('event.get("coldpress") == "map"', "False"))
    result = map_local(f"{room}/in/bad.jsonl", room / "out", old)
    assert not result.whole and "build it again" in result.failures[0].reason


def run(*said: str) -> "subprocess.CompletedProcess[str]":
    command = [str(Path(sys.executable).parent / "coldpress"), "map", *said]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_the_command(artifact: Artifact, room: Path) -> None:
    said = (f"{room}/in/*.jsonl", "--to", str(room / "out"), "--local", str(artifact.path))
    done = run(*said, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["whole"] and (told["lines"], told["failed_lines"]) == (706, 4)
    again = run(*said)
    assert again.returncode == 2 and "--resume" in again.stderr
    resumed = run(*said, "--resume")
    assert resumed.returncode == 0 and len(resumed.stdout.splitlines()) == 3
    neither = run(f"{room}/in/*.jsonl", "--to", str(room / "out2"))
    assert neither.returncode == 2 and "say who answers" in neither.stderr
