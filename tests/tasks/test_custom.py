"""Code of a person's own: pressed, asked, asked in batches, streamed from, and wrong in every way it may be."""

import itertools
import json
import sysconfig
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from lambda_events import function_url, load_balancer
from torch import nn

import coldpress
from coldpress.artifact import Artifact
from coldpress.emulate.sandbox import Invoked, Sandbox, base_python
from coldpress.errors import FunctionError, UsageError
from coldpress.package.bytecode import interpreters
from coldpress.progress import Silent
from coldpress.verify.recheck import recheck
from coldpress_runtime.faults import CodeError
from coldpress_runtime.tasks.custom import written

TOML = '[function]\ncode = "model.py:Model"\n'
#: small and pure Python; and one with compiled parts
PURE, COMPILED = "humanize==4.14.0", "markupsafe==3.0.3"

Projects = Callable[..., Path]


def write_project(folder: Path, code: str, toml: str = "", **files: str) -> Path:
    """A project below `folder`: its code, what the toml says after its first lines, other files by name."""
    place = folder / "my-function"
    place.mkdir(exist_ok=True)
    (place / "coldpress.toml").write_text(TOML + toml)
    (place / "model.py").write_text(code)
    for name, text in files.items():
        (place / name).write_text(text)
    return place


@pytest.fixture
def project(tmp_path: Path) -> Projects:
    return partial(write_project, tmp_path)


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


def test_for_another_cpu_with_its_wheels(project: Projects) -> None:
    code = "import markupsafe._speedups\n" + ADDS
    artifact = press(project(code, _requires(COMPILED) + "[samples]\nrequests = [{ a = 1 }]\n"), arch="arm64")
    (library,) = artifact.function_folder.glob("packages/markupsafe/_speedups.*.so")
    assert int.from_bytes(library.read_bytes()[18:20], "little") == 183, "ELF's number for aarch64"
    assert artifact.manifest["arch"] == "arm64"
    assert artifact.manifest["custom"]["samples"][0]["answer"] == {"sum": 2}


def test_two_builds_are_the_same_bytes(tmp_path: Path) -> None:
    hashes = []
    for place in (tmp_path / "a", tmp_path / "somewhere-else"):
        place.mkdir()
        folder = write_project(place, ADDS, _requires(PURE))
        hashes.append(coldpress.build(folder, out=place / "out").manifest)
    assert hashes[0] == hashes[1]


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
    return press(write_project(tmp_path_factory.mktemp("streams"), STREAMS))


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


class TestContext:
    """What the code is given: the model inside as a task and as an engine."""

    ASKS = """
class Model:
    def load(self, ctx):
        self.embed = ctx.task("model")
        self.engine = ctx.session("model")

    def predict(self, inputs):
        if "task" in inputs:
            return self.embed({"text": inputs["task"]})
        ids = self.engine.tokens(inputs["session"])
        made = self.engine.run({"input_ids": [ids, ids]})
        (vectors,) = made.values()
        return {"inputs": self.engine.inputs, "shape": vectors.shape, "type": vectors.type, **{
            name: tensor.tolist() for name, tensor in made.items()
        }}
"""

    @pytest.mark.parametrize("engine", ["press", "onnxruntime"])
    def test_a_text_model(self, engine: str, project: Projects, tiny_folder: Path) -> None:
        model = f'[model]\nsource = "{tiny_folder}"\nengine = "{engine}"\nquick = true\nmax_drift = 0.5\n'
        artifact = press(project(self.ASKS, model + '[samples]\nrequests = [{ task = "hi" }]\n'))
        by_task, by_session = ask(artifact, {"task": "hello, world"}, {"session": "hello, world"})
        assert (by_session["shape"], by_session["type"]) == ([2, 64], "float32")
        assert by_session["inputs"] == ["input_ids"]
        assert by_session["embeddings"][1] == by_session["embeddings"][0]
        assert by_session["embeddings"][0] == pytest.approx(by_task["embeddings"][0], abs=1e-6)
        assert artifact.manifest["models"]["model"]["recipe"]["engine"] == artifact.manifest["engine"] == engine
        assert artifact.manifest["models"]["model"]["drift"]["total"] <= 0.5
        checks = recheck(artifact, ["native"], None, Silent())
        assert [check.passed for check in checks] == [True, True, True]

    def test_any_module_around_which_code_is_wrapped(self, project: Projects) -> None:
        code = """
class Model:
    def load(self, ctx):
        self.engine = ctx.session()

    def predict(self, inputs):
        made = self.engine.run({"input": inputs["as_lists"] if "as_lists" in inputs else (
            "float32", [1, 2], bytes.fromhex(inputs["as_bytes"]))})
        return {name: tensor.tolist() for name, tensor in made.items()}
"""
        folder = project(code)
        network = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
        artifact = coldpress.build(
            network,
            inputs=torch.randn(1, 2),
            project=folder,
            out=folder.parent / "out",
            precision="fp32",
            quick=True,
            package="none",
        )
        given = torch.tensor([[0.5, -1.0]])
        expected = network(given).tolist()
        asked = [{"as_lists": given.tolist()}, {"as_bytes": given.numpy().tobytes().hex()}]
        wrong = [{"as_lists": [[1.0]]}, {"as_bytes": "00"}]
        *right, lists, bytes_ = ask(artifact, *asked, *wrong)
        for answer in right:
            assert answer["output"] == [pytest.approx(expected[0], abs=1e-5)]
        assert lists["error"]["message"] == "input has the shape [1, 1]; this model takes [any, 2]"
        assert "has 1 bytes" in bytes_["error"]["message"]

    def test_a_model_that_is_not_there(self, project: Projects) -> None:
        code = ADDS.replace("self.one = 1", 'ctx.task("other")')
        with pytest.raises(FunctionError, match=r"no model 'other'; it has none; \[model\] in coldpress.toml"):
            press(project(code))

    def test_no_credentials_and_nothing_else_of_the_builder(
        self, project: Projects, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted")
        monkeypatch.setenv("HF_TOKEN", "planted")
        code = "import os\n" + ADDS.replace('{"sum": inputs["a"] + self.one}', "dict(os.environ)")
        toml = "[samples]\nrequests = [{ a = 1 }]\n"
        ((sample),) = press(project(code, toml)).manifest["custom"]["samples"]
        assert "planted" not in json.dumps(sample)


ANSWERS = """
from coldpress_runtime.faults import BadRequest

class Model:
    def predict(self, inputs):
        return eval(inputs["answer"])

    def predict_batch(self, many):
        return eval(many[0]["answer"])

    def refuse(self):
        raise BadRequest(418, "teapot", "no coffee")
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return press(write_project(tmp_path_factory.mktemp("answers"), ANSWERS))


class TestWrongCode:
    """Mistakes in the code are told when it is built, or to the caller without a stack."""

    @pytest.mark.parametrize(
        ("code", "named"),
        [
            (ADDS.replace("self.one = 1", 'raise OSError("no such weights")'), "no such weights"),
            ("import nothing_of_that_name\n" + ADDS, "nothing_of_that_name"),
            (ADDS.replace("class Model", "class Other"), "the class Model is not there"),
            (ADDS.replace("def predict", "def predicts"), r"has no predict\(self, inputs\)"),
            ("import sys; sys.exit(7)", "exit code 7"),
        ],
    )
    def test_what_cannot_be_loaded(self, code: str, named: str, project: Projects) -> None:
        folder = project(code)
        with pytest.raises(FunctionError, match=named):
            press(folder)
        assert not (folder.parent / "out").exists()

    def test_its_stack_is_shown_to_who_builds(self, project: Projects) -> None:
        with pytest.raises(FunctionError, match=r"model\.py.*line 4.*in load"):
            press(project(ADDS.replace("self.one = 1", "self.one = 1 / 0").replace("\n\n", "\n")))

    def test_what_does_not_compile(self, project: Projects) -> None:
        with pytest.raises(UsageError, match=r"does not compile with Python 3.*model\.py.*line 2"):
            press(project("class Model:\n    def predict(self inputs): ..."))

    def test_a_sample_that_is_not_answered(self, project: Projects) -> None:
        with pytest.raises(FunctionError, match=r'sample \{"b": 1\} was not answered.*KeyError'):
            press(project(ADDS, "[samples]\nrequests = [{ a = 1 }, { b = 1 }]\n"))

    @pytest.mark.parametrize(
        ("answer", "kind", "named"),
        [
            ('{"scores": [1.0, float("nan")]}', "CodeError", 'answer["scores"][1] is nan'),
            ('{"a": {"b": float("-inf")}}', "CodeError", 'answer["a"]["b"] is -inf'),
            (
                '[b"raw"]',
                "CodeError",
                "answer[0] is of the type bytes, which has no JSON form; write bytes as base64",
            ),
            ("{1: {2}}", "CodeError", "answer[1] is of the type set"),
            ("{(1, 2): 3}", "CodeError", "answer has the key (1, 2)"),
            ("[a := [], a.append(a)][0]", "CodeError", "nested too deeply for JSON, or holds itself"),
            ("1 / 0", "ZeroDivisionError", "division by zero"),
            ("missing", "NameError", "'missing' is not defined"),
        ],
    )
    def test_answers_and_errors(self, answer: str, kind: str, named: str, answers: Artifact) -> None:
        with Sandbox(answers.function_folder, python=answers.python) as sandbox:
            invoked = sandbox.invoke(json.dumps({"answer": answer}).encode())
            assert not invoked.ok
            told = json.loads(invoked.body)
            assert told["errorType"] == f"Runtime.{kind}"
            assert named in told["errorMessage"]
            assert told["stackTrace"] == []
            assert "Traceback" in sandbox.log()

    def test_requests_that_it_refuses(self, answers: Artifact) -> None:
        refusal = {"answer": "self.refuse()"}
        direct, url = ask(answers, refusal, by_url(refusal))
        assert direct == json.loads(url["body"]) == {"error": {"code": "teapot", "message": "no coffee"}}
        assert url["statusCode"] == 418

    def test_a_batch_with_too_few_answers(self, answers: Artifact) -> None:
        for answer, found in (("[1]", "1 answers"), ("None", "None")):
            (told,) = ask(answers, [{"answer": answer}, {}])
            assert f"was given 2 requests and returned {found}" in told["errorMessage"]

    @pytest.mark.parametrize(("event", "named"), [("text", "must be an object"), ([1], "[0]"), ([], "empty")])
    def test_events_that_are_no_requests(self, event: Any, named: str, answers: Artifact) -> None:
        (told,) = ask(answers, event)
        assert named in told["error"]["message"]


def test_by_aws_client_and_over_http(project: Projects) -> None:
    artifact = press(project(ADDS.replace("inputs[", "__import__('humanize').clamp and inputs["), _requires(PURE)))
    command = [base_python(), "-m", "awslambdaric", "handler.lambda_handler"]
    env = {"PYTHONPATH": f"{artifact.function_folder}:{sysconfig.get_paths()['purelib']}"}
    with Sandbox(artifact.function_folder, command=command, env=env) as sandbox:
        assert json.loads(sandbox.invoke(b'{"a": 1}').body) == {"sum": 2}
    url, document = ask(artifact, by_url({"a": 2}), function_url("GET", "/openapi.json"))
    assert json.loads(url["body"]) == {"sum": 3}
    assert "model:Model" in json.loads(document["body"])["info"]["description"]


def _requires(*names: str) -> str:
    return f"requirements = {json.dumps(names)}\n"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@settings(deadline=None)
@given(answer=JSON)
def test_every_answer_with_a_json_form_is_written(answer: Any) -> None:
    assert json.loads(written(answer)) == answer


@settings(deadline=None)
@given(answer=JSON, poison=st.sampled_from([float("nan"), float("inf"), b"", object(), {1, 2}, 1j]))
def test_whatever_has_none_is_found(answer: Any, poison: Any) -> None:
    with pytest.raises(CodeError, match=r"^answer\[1\]\[\"x\"\] is "):
        written([answer, {"fine": answer, "x": poison}])
