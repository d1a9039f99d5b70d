"""Code of a person's own: pressed, asked, asked in batches, streamed from, and wrong in every way it may be."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lambda_events import function_url, load_balancer

import coldpress
from coldpress.artifact import Artifact
from coldpress.emulate.sandbox import Invoked, Sandbox
from coldpress.errors import FunctionError
from coldpress.package.bytecode import interpreters

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


BATCHES = """
from humanize import intcomma


class Model:
    def load(self, ctx):
        with open(ctx.folder + "/words.txt") as file:
            self.word = file.read().strip()
        self.calls = 0

    def predict(self, inputs):
        return {"said": f"{self.word} {intcomma(inputs['n'])}", "calls": self.calls}

    def predict_batch(self, many):
        self.calls += 1
        return [self.predict(inputs) for inputs in many]
"""


def test_a_class_with_a_requirement_and_a_batch_method(project: Projects) -> None:
    toml = f'files = ["words.txt"]\nrequirements = ["{PURE}"]\n[samples]\nrequests = [{{ n = 1 }}]\n'
    folder = project(BATCHES, toml, **{"words.txt": "exactly", ".env": "SECRET=1"})
    artifact = press(folder)
    alone, batch = ask(artifact, {"n": 1234567}, [{"n": 1}, {"n": 2000}])
    assert alone == {"said": "exactly 1,234,567", "calls": 0}
    assert batch == [{"said": "exactly 1", "calls": 1}, {"said": "exactly 2,000", "calls": 1}]
    (wheel,) = artifact.manifest["custom"]["requirements"]
    assert (wheel["name"], wheel["version"], wheel["python"]) == ("humanize", "4.14.0", "any")
    assert wheel["bytes"] > 100_000
    assert artifact.manifest["python"] == "any", "pure Python runs on any"
    assert artifact.manifest["custom"]["packed"] == ["model.py", "words.txt"]
    assert not list(artifact.function_folder.rglob("*.env"))


def test_compiled_requirements_pin_the_python(project: Projects) -> None:
    code = "import markupsafe._speedups as fast\n" + ADDS.replace('"sum"', "fast.__name__")
    toml = 'requirements = "needs.txt"\npython = "3.12"\n[samples]\nrequests = [{ a = 1 }]\n'
    artifact = press(project(code, toml, **{"needs.txt": f"# fast\n{COMPILED}  # in C\n\n"}))
    assert artifact.manifest["python"] == artifact.python == "3.12"
    assert list(artifact.function_folder.glob("packages/markupsafe/_speedups.cpython-312-*.so"))
    assert ask(artifact, {"a": 1}) == [{"markupsafe._speedups": 2}]


STREAMS = """
import time
from coldpress_runtime.faults import BadRequest


class Model:
    def predict(self, inputs):
        if "n" not in inputs:
            return {"no": "stream"}
        return self.count(**inputs)

    def count(self, n, fail=-1, refuse=-1, value=None):
        for at in range(n):
            if at:
                time.sleep(0.15)
            if at == fail:
                raise ValueError("no more")
            if at == refuse:
                raise BadRequest(422, "enough", "that is enough")
            yield {"at": at, "text": "a\\nb"} if value is None else float(value)
"""
ON = {"COLDPRESS_STREAM": "on"}


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    folder = tmp_path_factory.mktemp("streams") / "counter"
    folder.mkdir()
    (folder / "coldpress.toml").write_text(TOML)
    (folder / "model.py").write_text(STREAMS)
    return press(folder)


def stream(artifact: Artifact, event: Any) -> Invoked:
    with Sandbox(artifact.function_folder, python=artifact.python, env=ON) as sandbox:
        invoked = sandbox.invoke(json.dumps(event).encode())
        assert sandbox.invoke(b'{"n": 1}').ok, "the sandbox lives on"
        return invoked


def by_url(body: Any, path: str = "/") -> dict[str, Any]:
    return function_url("POST", path, body)


class TestStreaming:
    def test_pieces_arrive_one_after_the_other(self, streams: Artifact) -> None:
        invoked = stream(streams, {"n": 4})
        assert invoked.ok
        assert invoked.streamed is not None
        pieces = invoked.streamed.pieces
        assert [json.loads(piece.data) for piece in pieces] == [{"at": at, "text": "a\nb"} for at in range(4)]
        assert all(piece.data.count(b"\n") == 1 for piece in pieces), "JSON Lines"
        gaps = [later.at - sooner.at for sooner, later in itertools.pairwise(pieces)]
        assert min(gaps) > 0.1, "not collected and sent at the end"

    def test_server_sent_events_over_a_function_url(self, streams: Artifact) -> None:
        invoked = stream(streams, by_url({"n": 3}))
        assert invoked.streamed is not None
        assert invoked.streamed.prelude is not None
        assert invoked.streamed.prelude["statusCode"] == 200
        assert invoked.streamed.prelude["headers"]["content-type"] == "text/event-stream"
        assert invoked.body == b"".join(b'data: {"at": %d, "text": "a\\nb"}\n\n' % at for at in range(3))
        assert invoked.streamed.pieces[-1].at - invoked.streamed.pieces[0].at > 0.2

    def test_without_streaming_a_generator_is_a_list(self, streams: Artifact) -> None:
        direct, url = ask(streams, {"n": 2}, by_url({"n": 2}))
        assert direct == json.loads(url["body"]) == [{"at": 0, "text": "a\nb"}, {"at": 1, "text": "a\nb"}]
        assert ask(streams, [{"n": 1}, {"n": 0}]) == [[[{"at": 0, "text": "a\nb"}], []]]

    def test_an_error_in_mid_stream_is_in_the_trailers(self, streams: Artifact) -> None:
        invoked = stream(streams, {"n": 3, "fail": 2})
        assert not invoked.ok
        assert invoked.streamed is not None
        assert len(invoked.streamed.pieces) == 2
        expected = {"errorMessage": "no more", "errorType": "Runtime.ValueError", "stackTrace": []}
        assert invoked.streamed.error == expected

    def test_an_error_in_mid_stream_is_an_event_of_its_own(self, streams: Artifact) -> None:
        for event, code in (({"n": 2, "fail": 1}, "function_failed"), ({"n": 2, "refuse": 1}, "enough")):
            invoked = stream(streams, by_url(event))
            assert not invoked.ok
            head, _, data = invoked.body.rpartition(b"event: error\ndata: ")
            assert head.startswith(b"data: ")
            assert json.loads(data)["error"]["code"] == code
            assert b"no more" not in invoked.body, "what went wrong is for the log"

    def test_an_error_before_the_first_piece_is_an_error_like_others(self, streams: Artifact) -> None:
        failed = stream(streams, {"n": 3, "fail": 0})
        assert (failed.ok, failed.streamed) == (False, None)
        assert json.loads(failed.body)["errorMessage"] == "no more"
        assert json.loads(stream(streams, {"n": 3, "refuse": 0}).body)["error"]["code"] == "enough"
        refused = stream(streams, by_url({"n": 3, "refuse": 0}))
        assert refused.streamed is not None
        assert refused.streamed.prelude is not None
        assert refused.streamed.prelude["statusCode"] == 422
        not_json = stream(streams, {"n": 1, "value": "nan"})
        assert "answer is nan" in json.loads(not_json.body)["errorMessage"]

    @pytest.mark.parametrize(
        ("event", "status", "part"),
        [
            (by_url({}), 200, b'{"no": "stream"}'),
            (by_url({}, "/health"), 405, b"GET, HEAD"),
            (by_url([]), 400, b"empty_input"),
            (by_url({"n": 0}), 200, b""),
        ],
    )
    def test_what_is_no_stream_goes_the_same_way(
        self, event: Any, status: int, part: bytes, streams: Artifact
    ) -> None:
        invoked = stream(streams, event)
        assert invoked.streamed is not None
        assert invoked.streamed.prelude is not None
        assert invoked.streamed.prelude["statusCode"] == status
        assert part in invoked.body

    @pytest.mark.parametrize(
        ("event", "answer"), [({"x": 1}, {"no": "stream"}), ([{}], [{"no": "stream"}]), ({"n": 0}, None)]
    )
    def test_and_directly(self, event: Any, answer: Any, streams: Artifact) -> None:
        body = stream(streams, event).body
        assert (json.loads(body) if body else None) == answer

    def test_no_json_is_refused(self, streams: Artifact) -> None:
        with Sandbox(streams.function_folder, python=streams.python, env=ON) as sandbox:
            assert json.loads(sandbox.invoke(b"{").body)["error"]["code"] == "invalid_json"

    def test_a_load_balancer_gets_it_whole(self, streams: Artifact) -> None:
        body = json.loads(stream(streams, load_balancer("POST", "/", {"n": 2})).body)
        assert len(json.loads(body["body"])) == 2

    def test_other_tasks_answer_too(self, tiny_artifact: Artifact) -> None:
        with Sandbox(tiny_artifact.function_folder, env=ON) as sandbox:
            assert b"embeddings" in sandbox.invoke(b'{"text": "hi"}').body

    def test_a_wrong_setting(self, streams: Artifact) -> None:
        with (
            Sandbox(streams.function_folder, python=streams.python, env={"COLDPRESS_STREAM": "maybe"}) as sandbox,
            pytest.raises(FunctionError, match="COLDPRESS_STREAM"),
        ):
            sandbox.ready()

    def test_under_the_official_emulator(self, streams: Artifact, rie: Path) -> None:
        from rie import emulator

        env = {"PATH": f"{Path(interpreters()[streams.python]).parent}:/usr/bin:/bin", **ON}
        root = streams.function_folder
        with emulator([str(root / "bootstrap")], root, env, None) as running:
            lines = running.invoke(b'{"n": 2}')[0].splitlines()
            assert [json.loads(line)["at"] for line in lines] == [0, 1]
            prelude, _, body = running.invoke(json.dumps(by_url({"n": 1})).encode())[0].partition(b"\0" * 8)
        assert json.loads(prelude)["statusCode"] == 200
        assert body == b'data: {"at": 0, "text": "a\\nb"}\n\n'
