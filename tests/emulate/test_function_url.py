"""Plain HTTP in, an event of version 2.0 through the function, plain HTTP out."""

import base64
import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials
from emulate_judges import place

from coldpress.emulate.front.function_url import UrlSettings
from coldpress.emulate.front.server import Address
from coldpress.emulate.front.signatures import Credentials
from coldpress.emulate.sandboxes.settings import Settings
from coldpress.emulate.serving import Options, Running, running


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    options = Options(Address(port=0), UrlSettings(origins=("https://app.example",)))
    with running(place("any", tmp_path_factory.mktemp("url")), Settings(timeout=2), options) as lambda_:
        yield lambda_


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    options = Options(Address(port=0), UrlSettings(Credentials("AKID", "secret")))
    with running(place("any", tmp_path_factory.mktemp("iam")), Settings(), options) as lambda_:
        yield lambda_


def ask(
    served: Running, method: str, target: str, body: bytes = b"", headers: dict[str, str] | None = None
) -> Any:
    """The response, with its body read."""
    with closing(http.client.HTTPConnection(served.url.removeprefix("http://"), timeout=10)) as connection:
        connection.request(method, target, body or None, headers or {})
        with connection.getresponse() as response:
            told: Any = response
            told.text = response.read()
    return told


def reply(value: object) -> bytes:
    """Code that makes the function answer so."""
    return f"answer = {value!r}".encode()


def test_the_event(served: Running) -> None:
    headers = {"Cookie": "a=1; b=2", "X-Own": "value", "Content-Type": "text/plain"}
    response = ask(served, "PUT", "/some/päth%20x?a=1&a=2&b=&c=%26".replace("ä", "%C3%A4"), b"", headers)
    event = json.loads(response.text)
    assert event["version"] == "2.0" and event["routeKey"] == "$default"
    assert event["rawPath"] == "/some/päth x"
    assert event["rawQueryString"] == "a=1&a=2&b=&c=%26"
    assert event["queryStringParameters"] == {"a": "1,2", "b": "", "c": "&"}
    assert event["cookies"] == ["a=1", "b=2"] and "cookie" not in event["headers"]
    assert event["headers"]["x-own"] == "value"
    assert event["headers"]["x-forwarded-proto"] == "http"
    context = event["requestContext"]
    assert context["http"]["method"] == "PUT" and context["http"]["path"] == "/some/päth x"
    assert context["requestId"] == response.headers["x-amzn-requestid"]
    assert "body" not in event and event["isBase64Encoded"] is False


def test_binary_bodies_come_as_base64(served: Running) -> None:
    data = bytes(range(256))
    event = json.loads(ask(served, "POST", "/", data, {"Content-Type": "image/png"}).text)
    assert event["isBase64Encoded"] is True
    assert base64.b64decode(event["body"]) == data


def test_a_plain_value_is_json(served: Running) -> None:
    response = ask(served, "POST", "/", reply({"a": ["ü"]}))
    assert (response.status, response.headers["content-type"]) == (200, "application/json")
    assert json.loads(response.text) == {"a": ["ü"]}


def test_a_response_is_taken_apart(served: Running) -> None:
    value = {
        "statusCode": 418,
        "headers": {"X-Own": "yes", "content-type": "text/plain"},
        "cookies": ["a=1; HttpOnly", "b=2"],
        "body": base64.b64encode(b"\x00\xff").decode(),
        "isBase64Encoded": True,
    }
    response = ask(served, "POST", "/", reply(value))
    assert (response.status, response.text, response.headers["x-own"]) == (418, b"\x00\xff", "yes")
    assert response.headers.get_all("set-cookie") == ["a=1; HttpOnly", "b=2"]


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ({"statusCode": "201", "body": "x"}, 201),
        ({"statusCode": 99, "body": "x"}, 502),
        ({"statusCode": None, "body": "x"}, 502),
        ({"statusCode": 200, "headers": {"bad name": "x", "X": "a\r\nSet-Cookie: evil=1"}}, 200),
        ({"statusCode": 200, "headers": [1], "cookies": "no list", "body": {"no": "string"}}, 200),
        ({"statusCode": 200, "body": "not base64!", "isBase64Encoded": True}, 502),
        (
            {
                "statusCode": 200,
                "headers": {"Content-Length": "5", "Transfer-Encoding": "chunked"},
                "body": "longer",
            },
            200,
        ),
        ({"statusCode": 204}, 204),
    ],
)
def test_odd_responses_do_no_harm(served: Running, value: object, status: int) -> None:
    response = ask(served, "POST", "/", reply(value))
    assert response.status == status
    assert response.headers.get("set-cookie") is None


def test_errors_of_the_function_are_502(served: Running) -> None:
    response = ask(served, "POST", "/", b"raise ValueError('inside')")
    assert response.status == 502
    assert b"inside" not in response.text, "what went wrong is in the log, not in the answer"
    assert ask(served, "POST", "/", b"import time; time.sleep(9)").status == 504
    assert ask(served, "POST", "/", b"import os; os._exit(1)").status == 502
    assert ask(served, "POST", "/", reply("well")).status == 200


def test_cors(served: Running) -> None:
    origin = {"Origin": "https://app.example"}
    before = {**origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    allowed = ask(served, "OPTIONS", "/", b"", before)
    assert allowed.status == 200
    assert allowed.headers["access-control-allow-origin"] == "https://app.example"
    assert "POST" in allowed.headers["access-control-allow-methods"]
    assert allowed.headers["access-control-allow-headers"] == "content-type"
    answer = ask(served, "POST", "/", reply(1), origin)
    assert answer.headers["access-control-allow-origin"] == "https://app.example"
    other = ask(served, "POST", "/", reply(1), {"Origin": "https://evil.example"})
    assert other.headers.get("access-control-allow-origin") is None


def test_head_and_large_bodies(served: Running) -> None:
    response = ask(served, "HEAD", "/anything")
    assert (response.status, response.text) == (200, b"")
    large = b"answer = len(event['body'])  #" + b"x" * 5_000_000
    assert json.loads(ask(served, "POST", "/", large).text) == len(large)
    assert ask(served, "POST", "/", b"x" * 7_000_000).status == 413


def test_several_requests_at_once_on_one_connection(served: Running) -> None:
    host, port = served.url.removeprefix("http://").split(":")
    one = b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n"
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"".join(one % number for number in range(20)))
        data = b""
        while data.count(b'"rawPath"') < 20:
            data += connection.recv(65536)
    places = [data.index(b'"rawPath": "/%d"' % number) for number in range(20)]
    assert places == sorted(places)


def test_a_signed_url(signed: Running) -> None:
    body = reply("in")

    def sign(secret: str, target: str = "/a%20b/c?z=1&a=%2F&a=b", service: str = "lambda") -> dict[str, str]:
        request = AWSRequest("POST", signed.url + target, data=body, headers={"X-Own": "a  b"})
        SigV4Auth(BotoCredentials("AKID", secret), service, "us-east-1").add_auth(request)
        return dict(request.headers)

    target = "/a%20b/c?z=1&a=%2F&a=b"
    assert ask(signed, "POST", target, body, sign("secret")).status == 200
    assert ask(signed, "POST", target, body).status == 403
    assert ask(signed, "POST", target, body, sign("wrong")).status == 403
    assert ask(signed, "POST", target, body, sign("secret", service="s3")).status == 403
    assert ask(signed, "POST", target, body + b" ", sign("secret")).status == 403, "another body"
    assert ask(signed, "POST", "/other", body, sign("secret")).status == 403, "another path"
    late = {**sign("secret"), "X-Amz-Date": "20200101T000000Z"}
    assert ask(signed, "POST", target, body, late).status == 403


def test_the_invoke_api_needs_no_signature(signed: Running) -> None:
    keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any", "region_name": "us-east-1"}
    client = boto3.client("lambda", endpoint_url=signed.url, **keys)
    assert client.invoke(FunctionName="function", Payload=b"{}")["StatusCode"] == 200
    client.close()


def test_it_listens_on_loopback_and_the_page_knows_its_own_names(served: Running) -> None:
    assert served.url.startswith("http://127.0.0.1:")
    assert ask(served, "GET", "/_/status").status == 200
    assert ask(served, "GET", "/_/status", headers={"Host": "evil.example"}).status == 403
    evil = {"Host": "evil.example", "Origin": "http://evil.example"}
    assert ask(served, "POST", "/2015-03-31/functions/function/invocations", b"{}", evil).status == 403
    assert ask(served, "GET", "/_/../server.py").status == 404
    assert ask(served, "POST", "/_/status").status == 405
    assert ask(served, "GET", "/_").headers["location"] == "/_/"
