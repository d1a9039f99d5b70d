"""One function of many models: whoever is named answers, as it would alone."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from posix import environ
from typing import Any

import openai
import pytest
from lambda_events import function_url
from many_models import other as other
from many_models import three as three

from coldpress.artifact import Artifact
from coldpress.emulate.sandbox import Sandbox
from coldpress_runtime.faults import LoadError
from coldpress_runtime.function import Function

HI = {"text": "hi there"}


@pytest.fixture
def function(three: Artifact) -> Function:
    return Function(str(three.function_folder))


@pytest.fixture
def alone(artifact: Artifact, other: Artifact, graph_artifact: Artifact) -> dict[str, Callable[[object], Any]]:
    """Each model in a function of its own."""
    made = {"plain": artifact, "other": other, "graph": graph_artifact}
    return {name: one.function() for name, one in made.items()}


def over_http(function: Function, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
    text = "" if body is None else json.dumps(body)
    event = function_url(
        method, path, text, headers={name.replace("_", "-"): said for name, said in headers.items()}
    )
    reply = json.loads(function.handle(event))
    return reply["statusCode"], json.loads(reply["body"])


def changed(three: Artifact, folder: Path, **said: object) -> Function:
    """A copy whose index says something else."""
    shutil.copytree(three.function_folder, folder)
    path = folder / "models" / "index.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | said))
    return Function(str(folder))


def test_each_answers_as_it_does_alone(function: Function, alone: dict[str, Callable[[object], Any]]) -> None:
    for name, ask in alone.items():
        expected = ask(HI)
        assert function.call({"model": name, **HI}) == expected
        assert over_http(function, "POST", f"/models/{name}", HI) == (200, expected)
        assert over_http(function, "POST", "/", {"model": name, **HI}) == (200, expected)
    assert len({json.dumps(ask(HI)) for ask in alone.values()}) == 3


def test_the_openai_field(function: Function, alone: dict[str, Callable[[object], Any]]) -> None:
    status, answer = over_http(function, "POST", "/v1/embeddings", {"model": "other", "input": "hi there"})
    assert status == 200 and answer["model"] == "other"
    assert answer["data"][0]["embedding"] == alone["other"](HI)["embeddings"][0]
    assert over_http(function, "POST", "/models/other/v1/embeddings", {"input": "hi there"}) == (200, answer)


def test_openai_sdk_through_the_local_lambda(three: Artifact) -> None:
    with three.serve() as url, openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
        assert [model.id for model in client.models.list()] == ["plain", "other", "graph"]
        vectors = [
            client.embeddings.create(model=name, input="hi there").data[0].embedding for name in ("plain", "other")
        ]
        assert vectors[0] != vectors[1]
        with pytest.raises(openai.NotFoundError, match="there is no model 'gpt'; this function has plain, other"):
            client.embeddings.create(model="gpt", input="hi")


def test_what_it_says_of_itself(function: Function) -> None:
    function.call({"model": "other", **HI})
    assert over_http(function, "GET", "/models") == (
        200,
        {
            "models": [
                {"name": "plain", "task": "embeddings", "open": False},
                {"name": "other", "task": "embeddings", "open": True},
                {"name": "graph", "task": "embeddings", "open": False},
            ]
        },
    )
    assert over_http(function, "GET", "/health") == (200, {"status": "ok"})
    _, whole = over_http(function, "GET", "/openapi.json")
    assert {"/models/plain", "/models/other/v1/embeddings", "/health"} <= set(whole["paths"])
    _, one = over_http(function, "GET", "/models/other/openapi.json")
    assert one["info"]["title"] == "other" and "/v1/embeddings" in one["paths"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "message"),
    [
        ("POST", "/", HI, 400, "the field 'model' is missing; this function has plain, other, graph"),
        ("POST", "/", {"model": 3, **HI}, 404, "there is no model 3"),
        ("POST", "/", {"model": ["plain"], **HI}, 404, "there is no model ['plain']"),
        ("POST", "/models/none", HI, 404, "there is no model 'none'"),
        ("POST", "/models/plain/nowhere", HI, 404, "there is nothing at '/models/plain/nowhere'"),
        ("GET", "/models/plain", None, 405, "/models/plain does not take GET"),
        ("POST", "/models", HI, 405, "/models does not take POST"),
        ("POST", "/models/plain", {"text": 1}, 400, "'text' must be a text or a list of texts"),
        ("POST", "/", [1], 400, "the field 'model' is missing"),
    ],
)
def test_wrong_requests(
    function: Function, method: str, path: str, body: object, status: int, message: str
) -> None:
    got, answer = over_http(function, method, path, body)
    assert got == status and message in answer["error"]["message"]


def test_a_default(three: Artifact, tmp_path: Path, alone: dict[str, Callable[[object], Any]]) -> None:
    function = changed(three, tmp_path / "copy", default="other")
    assert function.call(HI) == alone["other"](HI)
    assert over_http(function, "POST", "/", HI) == (200, alone["other"](HI))


def test_a_batch_goes_to_its_models(function: Function, alone: dict[str, Callable[[object], Any]]) -> None:
    asked = [{"model": name, "text": text} for text in ("a", "b") for name in alone]
    values: list[Any] = [*asked, {"model": "none", "text": "x"}, {"text": "x"}]
    assert function.many is not None
    answers = function.many.spread(values)
    for value, answer in zip(asked, answers[:6], strict=True):
        expected = alone[value["model"]]({"text": value["text"]})["embeddings"][0]
        # On onnxruntime an int8 answer depends a little on what else is in the batch; on press it does not.
        near = 0.05 if value["model"] == "graph" else 0.0
        assert json.loads(str(answer))["embeddings"][0] == pytest.approx(expected, abs=near, rel=0)
    assert [str(one)[:20] for one in answers[6:]] == ["there is no model 'n", "the field 'model' is"]
    assert (function.many.shelf.hits, function.many.shelf.misses) == (0, 3)


def test_tenants_by_header(three: Artifact, tmp_path: Path, alone: dict[str, Callable[[object], Any]]) -> None:
    tenants = {"acme": {"models": ["other", "plain"]}, "umbrella": {"models": ["graph"]}}
    function = changed(three, tmp_path / "copy", tenants={"header": "x-tenant", "tenants": tenants})
    assert over_http(function, "POST", "/", HI, x_tenant="acme") == (200, alone["other"](HI))
    assert over_http(function, "POST", "/", {"model": "plain", **HI}, x_tenant="acme") == (200, alone["plain"](HI))
    status, answer = over_http(function, "POST", "/models/graph", HI, x_tenant="acme")
    assert status == 404 and answer["error"]["message"].endswith("this function has other, plain")
    assert over_http(function, "POST", "/", {"model": "graph", **HI}, x_tenant="acme")[0] == 404
    assert over_http(function, "POST", "/", HI)[0] == 400
    assert over_http(function, "POST", "/", HI, x_tenant="nobody")[0] == 403
    _, listed = over_http(function, "GET", "/v1/models", x_tenant="umbrella")
    assert [one["id"] for one in listed["data"]] == ["graph"]
    _, document = over_http(function, "GET", "/openapi.json", x_tenant="umbrella")
    assert not any(path.startswith(("/models/plain", "/models/other")) for path in document["paths"])


def test_tenants_by_token(
    three: Artifact, tmp_path: Path, alone: dict[str, Callable[[object], Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("first", "second", "owner")}
    tenants = {
        "acme": {"models": ["other"], "token_sha256": digest["first"]},
        "umbrella": {"models": ["plain"], "token_sha256": digest["second"]},
    }
    monkeypatch.setitem(environ, b"COLDPRESS_TOKEN_SHA256", digest["owner"].encode())
    function = changed(three, tmp_path / "copy", tenants={"header": None, "tenants": tenants})
    assert over_http(function, "POST", "/", HI, authorization="Bearer first") == (200, alone["other"](HI))
    assert over_http(function, "POST", "/", HI, authorization="Bearer second") == (200, alone["plain"](HI))
    assert over_http(function, "POST", "/models/plain", HI, authorization="Bearer first")[0] == 404
    for wrong in ("Bearer third", "Basic first", "first"):
        assert over_http(function, "POST", "/", HI, authorization=wrong)[0] == 401
    assert over_http(function, "GET", "/health")[0] == 401
    assert over_http(function, "POST", "/models/graph", HI, authorization="Bearer owner")[0] == 200
    assert over_http(function, "POST", "/", HI, authorization="Bearer owner")[0] == 400


def test_one_that_is_broken_hurts_its_own_callers_alone(
    three: Artifact, tmp_path: Path, alone: dict[str, Callable[[object], Any]]
) -> None:
    function = changed(three, tmp_path / "copy")
    weights = tmp_path / "copy" / "models" / "other" / "model.press"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:1000])
    for _ in range(2):
        status, answer = over_http(function, "POST", "/models/other", HI)
        assert status == 503 and answer["error"]["code"] == "model_unavailable"
        assert "model.press" in answer["error"]["message"]
        with pytest.raises(LoadError, match=r"model\.press"):
            function.call({"model": "other", **HI})
        assert over_http(function, "POST", "/models/plain", HI) == (200, alone["plain"](HI))
    weights.write_bytes(whole)
    assert over_http(function, "POST", "/models/other", HI) == (200, alone["other"](HI))


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    yield lambda megabytes: monkeypatch.setitem(environ, b"COLDPRESS_MODEL_MEMORY", megabytes.encode())


def test_a_model_that_does_not_fit(three: Artifact, memory: Callable[[str], None]) -> None:
    memory("45")
    function = Function(str(three.function_folder))
    assert "embeddings" in function.call({"model": "plain", **HI})  # type: ignore[operator]
    with pytest.raises(LoadError, match=r"'graph' takes 5\d\.\d MB of memory; all may have 45\.0"):
        function.call({"model": "graph", **HI})
    assert "embeddings" in function.call({"model": "other", **HI})  # type: ignore[operator]
    assert function.many is not None and function.many.shelf.open_names == ["other"]
    assert function.many.shelf.bytes <= 45e6


@pytest.mark.parametrize("said", ["0", "-1", "many", "1.5"])
def test_wrong_memory(three: Artifact, memory: Callable[[str], None], said: str) -> None:
    memory(said)
    with pytest.raises(LoadError, match=rf"COLDPRESS_MODEL_MEMORY is '{said}'; it must be a number of megabytes"):
        Function(str(three.function_folder))


def test_opened_before_the_first_request(three: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(environ, b"COLDPRESS_PRELOAD", b"other,graph")
    function = Function(str(three.function_folder))
    assert function.many is not None and function.many.shelf.open_names == ["other", "graph"]


def test_in_a_sandbox_of_little_memory(three: Artifact, alone: dict[str, Callable[[object], Any]]) -> None:
    """128 MB: 70 % of it are for models."""
    with Sandbox(three.function_folder, memory_mb=128) as sandbox:
        for name in ("plain", "graph", "other", "plain"):
            answer = sandbox.invoke(json.dumps({"model": name, **HI}).encode())
            assert answer.ok and json.loads(answer.body) == alone[name](HI)
