"""Bad input: a clear JSON error, a status where there is one, and a function that lives on."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lambda_events import SOURCES, Maker, function_url

from coldpress.artifact import Artifact
from coldpress_runtime.faults import LoadError
from coldpress_runtime.function import Function

# body → status, code, what the message must name
REFUSED = [
    ("not JSON", 400, "invalid_json", "character 0"),
    ('{"text": "a"} trailing', 400, "invalid_json", "character 13"),
    ('{"text": NaN}', 400, "invalid_json", "NaN"),
    ('{"text": "a", "x": -Infinity}', 400, "invalid_json", "-Infinity"),
    ('{"text": ', 400, "invalid_json", "character 9"),
    ("", 400, "invalid_json", "character 0"),
    ("[" * 100_000, 400, "invalid_json", "nested"),
    ("[1, 2]", 400, "wrong_type", "[1, 2]"),
    ("null", 400, "wrong_type", "None"),
    ("{}", 400, "missing_field", "'text'"),
    ('{"texts": "a"}', 400, "missing_field", "'texts'"),
    ('{"text": 5}', 400, "wrong_type", "5"),
    ('{"text": null}', 400, "wrong_type", "None"),
    ('{"text": []}', 400, "empty_input", "'text'"),
    ('{"text": ["a", 7]}', 400, "wrong_type", "text[1]"),
    ('{"text": ["a", ["b"]]}', 400, "wrong_type", "text[1]"),
    ('{"text": "a", "truncate": "no"}', 400, "wrong_type", "'truncate'"),
    (json.dumps({"text": ["a"] * 2049}), 413, "too_many_texts", "2048"),
    (json.dumps({"text": "a" * 100_001}), 413, "text_too_long", "100000"),
    (json.dumps({"text": "word " * 300, "truncate": False}), 413, "text_too_long", "256 tokens"),
    (json.dumps({"text": ["word"] * 2048}), 413, "answer_too_large", "fit"),
]


@pytest.mark.parametrize(
    ("body", "status", "code", "named"), REFUSED, ids=[f"{row[2]}-{row[0][:20]}" for row in REFUSED]
)
def test_refusals(body: str, status: int, code: str, named: str, function: Function) -> None:
    over_http = json.loads(function.handle(function_url("POST", "/", body)))
    error = json.loads(over_http["body"])["error"]
    assert (over_http["statusCode"], error["code"]) == (status, code)
    assert named in error["message"]
    direct = json.loads(function.answer(body.encode()))
    assert direct["error"]["code"] == code
    assert "Traceback" not in error["message"]
    assert len(json.loads(function.handle({"text": "still alive"}))["embeddings"]) == 1


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"model": "m"}, "missing_field"),
        ({"input": [1, 2, 3]}, "wrong_type"),
        ({"input": "a", "encoding_format": "int8"}, "unsupported_value"),
        ({"input": "a", "dimensions": 64}, "unsupported_value"),
    ],
)
def test_openai_refusals(body: dict[str, object], code: str, ask: Any) -> None:
    reply = ask(function_url("POST", "/v1/embeddings", body))
    assert reply["statusCode"] == 400
    assert json.loads(reply["body"])["error"]["code"] == code


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
def test_unknown_paths_and_methods(make: Maker, ask: Any) -> None:
    missing = ask(make("POST", "/v2/chat", "{}"))
    assert missing["statusCode"] == 404
    assert "POST /v1/embeddings" in json.loads(missing["body"])["error"]["message"]
    wrong = ask(make("DELETE", "/v1/embeddings", "{}"))
    assert wrong["statusCode"] == 405
    headers = wrong.get("headers") or wrong["multiValueHeaders"]
    assert headers["allow"] in ("POST", ["POST"])


def test_a_body_that_only_says_it_is_base64(ask: Any) -> None:
    event = function_url("POST", "/") | {"body": "%%%=", "isBase64Encoded": True}
    assert ask(event)["statusCode"] == 400


def test_a_lone_surrogate_is_replaced(ask: Any) -> None:
    assert ask({"text": "a \ud800 b"}) == ask({"text": "a \ufffd b"})


def test_how_many_fit_does_fit(ask: Any) -> None:
    message = ask({"text": ["word"] * 2048})["error"]["message"]
    fit = int(message.split("about ")[1].split()[0])
    assert len(ask({"text": ["word"] * fit})["embeddings"]) == fit


class TestToken:
    @pytest.fixture
    def guarded(self, artifact: Artifact, monkeypatch: pytest.MonkeyPatch) -> Function:
        monkeypatch.setenv("COLDPRESS_TOKEN_SHA256", hashlib.sha256(b"open sesame").hexdigest().upper())
        return _fresh(artifact, "COLDPRESS_TOKEN_SHA256", hashlib.sha256(b"open sesame").hexdigest().upper())

    @pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
    def test_the_right_one_gets_in(self, make: Maker, guarded: Function) -> None:
        event = make("GET", "/health", headers={"Authorization": "Bearer open sesame"})
        assert json.loads(guarded.handle(event))["statusCode"] == 200

    @pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer wrong", "Basic open sesame", "open sesame"])
    def test_no_other_does(self, header: str | None, guarded: Function) -> None:
        headers = {} if header is None else {"authorization": header}
        for method, path, body in (
            ("GET", "/health", ""),
            ("POST", "/", "not even JSON"),
            ("GET", "/nothing", ""),
        ):
            reply = json.loads(guarded.handle(function_url(method, path, body, headers=headers)))
            assert reply["statusCode"] == 401
            assert reply["headers"]["www-authenticate"] == "Bearer"

    def test_a_direct_invocation_is_guarded_by_aws_already(self, guarded: Function) -> None:
        assert "embeddings" in json.loads(guarded.handle({"text": "hi"}))

    def test_a_wrong_setting_stops_the_function(self, artifact: Artifact) -> None:
        with pytest.raises(LoadError, match="64 hex digits"):
            _fresh(artifact, "COLDPRESS_TOKEN_SHA256", "open sesame")


def _fresh(artifact: Artifact, name: str, value: str) -> Function:
    """A function that sees one more variable; it reads posix.environ, which os.environ does not change."""
    from posix import environ

    environ[name.encode()] = value.encode()
    try:
        return Function(str(artifact.function_folder), load=True)
    finally:
        del environ[name.encode()]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=8), children, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(event=json_values)
def test_no_event_breaks_the_function(event: object, function: Function) -> None:
    answer = json.loads(function.handle(event))
    assert "embeddings" in answer or "error" in answer or "statusCode" in answer


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.dictionaries(st.sampled_from(["text", "input", "truncate", "encoding_format"]), json_values))
def test_no_body_breaks_the_function(body: object, function: Function) -> None:
    for path in ("/", "/v1/embeddings"):
        reply = json.loads(function.handle(function_url("POST", path, json.dumps(body))))
        assert reply["statusCode"] in (200, 400, 413)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    context=json_values,
    extra=st.dictionaries(
        st.sampled_from(
            ["version", "rawPath", "path", "headers", "body", "httpMethod", "isBase64Encoded", "multiValueHeaders"]
        ),
        json_values,
    ),
    kind=st.sampled_from(["elb", "http", "none"]),
)
def test_no_http_event_breaks_the_function(
    context: object, extra: dict[str, object], kind: str, function: Function
) -> None:
    event = {"version": "2.0", "httpMethod": "POST", **extra, "requestContext": {kind: context, "stage": context}}
    answer = json.loads(function.handle(event))
    assert "statusCode" in answer or "error" in answer or "embeddings" in answer


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=300))
def test_every_text_has_an_embedding(text: str, function: Function) -> None:
    (vector,) = json.loads(function.handle({"text": text}))["embeddings"]
    assert abs(sum(value * value for value in vector) - 1) < 1e-3
