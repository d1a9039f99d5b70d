"""Every source in, the form that each expects out."""

import base64
import json
import struct
from typing import Any

import pytest
from lambda_events import SOURCES, Maker, api_gateway_v2, function_url, load_balancer

from coldpress.artifact import Artifact
from coldpress_runtime.function import Function

TEXTS = ["hello", "a somewhat longer text, so that one of them is padded"]

every_source = pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)


@every_source
@pytest.mark.parametrize("encode", [False, True], ids=["plain", "base64"])
def test_plain_request_through_every_source(make: Maker, encode: bool, ask: Any) -> None:
    direct = ask({"text": TEXTS})
    reply = ask(make("POST", "/", {"text": TEXTS}, encode=encode))
    assert reply["statusCode"] == 200
    assert reply["isBase64Encoded"] is False
    assert json.loads(reply["body"]) == direct
    assert [len(vector) for vector in direct["embeddings"]] == [384, 384]


@every_source
def test_the_form_of_the_answer(make: Maker, ask: Any) -> None:
    event = make("GET", "/health")
    reply = ask(event)
    assert json.loads(reply["body"]) == {"status": "ok"}
    many = "multiValueHeaders" in event and "elb" in event["requestContext"]
    headers = reply["multiValueHeaders" if many else "headers"]
    assert headers["content-type"] == (["application/json"] if many else "application/json")
    if "elb" in event["requestContext"]:
        assert reply["statusDescription"] == "200 OK"


@every_source
def test_openai_shape(make: Maker, ask: Any) -> None:
    reply = ask(make("POST", "/v1/embeddings", {"input": TEXTS, "model": "any"}))
    answer = json.loads(reply["body"])
    assert answer["object"] == "list"
    assert [datum["index"] for datum in answer["data"]] == [0, 1]
    assert answer["usage"]["prompt_tokens"] == answer["usage"]["total_tokens"] > len(TEXTS)
    assert answer["data"][1]["embedding"] == ask({"text": TEXTS})["embeddings"][1]


def test_base64_vectors_are_the_same_numbers(ask: Any) -> None:
    body = {"input": "hello", "model": "any", "encoding_format": "base64"}
    answer = json.loads(ask(function_url("POST", "/v1/embeddings", body))["body"])
    raw = base64.b64decode(answer["data"][0]["embedding"])
    expected = ask({"text": "hello"})["embeddings"][0]
    assert raw == struct.pack("<384f", *expected)


def test_one_text_and_a_list_of_one_are_the_same(ask: Any) -> None:
    assert ask({"text": "hello"}) == ask({"text": ["hello"]})


def test_answers_come_in_the_asked_order(ask: Any, either: Artifact) -> None:
    texts = ["word " * length for length in (40, 1, 90, 3, 200, 17)]
    together = ask({"text": texts})["embeddings"]
    for text, vector in zip(texts, together, strict=True):
        alone = ask({"text": text})["embeddings"][0]
        if either.manifest["engine"] == "press":
            assert vector == alone, "alone or in a batch: the same bits"
        assert sum(a * b for a, b in zip(vector, alone, strict=True)) > 0.98, text[:20]


def test_the_stage_of_an_http_api_is_not_part_of_the_path(ask: Any) -> None:
    assert ask(api_gateway_v2("GET", "/health"))["statusCode"] == 200
    event = api_gateway_v2("POST", "", {"text": "hi"})
    assert event["rawPath"] == "/prod"
    assert ask(event)["statusCode"] == 200


def test_a_trailing_slash_does_not_matter(ask: Any) -> None:
    assert ask(function_url("GET", "/health/"))["statusCode"] == 200


def test_openapi_describes_the_function(ask: Any) -> None:
    document = json.loads(ask(function_url("GET", "/openapi.json"))["body"])
    assert document["openapi"].startswith("3.")
    assert set(document["paths"]) == {"/", "/v1/embeddings", "/health"}


def test_a_load_balancer_carries_less(ask: Any) -> None:
    texts = ["hi"] * 400
    assert ask(function_url("POST", "/", {"text": texts}))["statusCode"] == 200
    reply = ask(load_balancer("POST", "/", {"text": texts}))
    assert reply["statusCode"] == 413
    assert "1048576 bytes" in json.loads(reply["body"])["error"]["message"]


def test_an_event_given_as_bytes(function: Function) -> None:
    assert function.answer(b'\xef\xbb\xbf {"text": "hi"} \n') == function.handle({"text": "hi"})
