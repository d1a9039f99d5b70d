"""Whatever comes over HTTP: an answer, no 5xx of the emulator's own, no hang, no dead sandbox."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from emulate_judges import ECHO, PATH, post
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coldpress.artifact import Artifact
from coldpress.emulate.sandboxes.settings import Settings
from coldpress.emulate.serving import Running, running

NOT_SHRUNK = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
METHODS = st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "BREW", "CONNECT", ""])
TEXT = st.text(max_size=40)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
REQUEST = st.fixed_dictionaries(
    {},
    optional={
        "text": JSON | st.lists(TEXT, max_size=5),
        "pooling": st.sampled_from(["mean", "cls", "none", "max"]) | JSON,
        "truncate": st.booleans() | JSON,
        "normalize": st.booleans() | JSON,
        "input": JSON | st.lists(TEXT, max_size=5),
        "encoding_format": st.sampled_from(["float", "base64"]) | JSON,
        "dimensions": st.integers() | JSON,
        "model": JSON,
    },
)
PATHS = st.sampled_from(
    ["/", "/v1/embeddings", "/health", "/openapi.json", "/v1/rerank", "/nothing", "//", "/%00"]
)


@pytest.fixture(scope="module")
def minilm(artifact: Artifact) -> Iterator[Running]:
    with running(artifact.path, Settings(concurrency=2)) as served:
        post(served.url + PATH, b'{"text": "warm"}')
        yield served


@pytest.fixture(scope="module")
def echo() -> Iterator[Running]:
    with running(ECHO, Settings(concurrency=2)) as served:
        yield served


def exchange(served: Running, data: bytes) -> bytes:
    """Send bytes, hang up our side, and read all that comes."""
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        answer = b""
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65536):
                answer += part
        except ConnectionError:  # it was refused before all was sent
            pass
    return answer


def statuses(answer: bytes) -> list[int]:
    return [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:] if part[:3].isdigit()]


@pytest.mark.slow
@settings(max_examples=1200, deadline=None, suppress_health_check=NOT_SHRUNK)
@given(path=PATHS, method=METHODS, body=REQUEST | JSON)
def test_requests_to_the_function(minilm: Running, path: str, method: str, body: Any) -> None:
    """By its own document, and beside it: what is wrong gets a 4xx from the function."""
    data = json.dumps(body).encode()
    head = f"{method or 'POST'} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    answer = exchange(minilm, f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
    assert answer.startswith(b"HTTP/1.1 "), answer[:200]
    assert all(200 <= status < 500 for status in statuses(answer)), answer[:300]


@settings(max_examples=400, deadline=None, suppress_health_check=NOT_SHRUNK)
@given(
    name=st.text(st.characters(codec="ascii", exclude_characters=" \r\n?#"), max_size=30),
    kind=st.sampled_from(["RequestResponse", "DryRun", "Event", "Other", ""]),
    tail=st.sampled_from(["Tail", "None", ""]),
    body=st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()),
)
def test_requests_to_the_invoke_api(echo: Running, name: str, kind: str, tail: str, body: bytes) -> None:
    head = (
        f"POST /2015-03-31/functions/{name or 'function'}/invocations HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    )
    head += f"X-Amz-Invocation-Type: {kind}\r\nX-Amz-Log-Type: {tail}\r\nContent-Length: {len(body)}\r\n\r\n"
    answer = exchange(echo, head.encode() + body)
    assert answer.startswith(b"HTTP/1.1 "), answer[:200]
    assert all(200 <= status < 500 for status in statuses(answer)), answer[:300]


@settings(max_examples=600, deadline=None, suppress_health_check=NOT_SHRUNK)
@given(
    data=st.binary(max_size=300)
    | st.lists(
        st.sampled_from(
            [
                *(
                    b"GET / HTTP/1.1\r\n",
                    b"POST / HTTP/1.1\r\n",
                    b"Host: x\r\n",
                    b"Content-Length: 5\r\n",
                    b"\r\n",
                ),
                *(
                    b"Content-Length: -1\r\n",
                    b"Transfer-Encoding: chunked\r\n",
                    b"5\r\nhello\r\n",
                    b"0\r\n\r\n",
                    b"hello",
                ),
                *(
                    b"Expect: 100-continue\r\n",
                    b"Upgrade: websocket\r\nConnection: upgrade\r\n",
                    b"\xff\x00",
                    b"G" * 100,
                ),
                *(
                    b"GET http://x/ HTTP/1.1\r\n",
                    b"GET * HTTP/1.0\r\n",
                    b"X: " + b"y" * 70_000 + b"\r\n",
                    b": \r\n",
                ),
            ]
        ),
        max_size=12,
    ).map(b"".join)
)
def test_what_is_no_http(echo: Running, data: bytes) -> None:
    answer = exchange(echo, data)
    assert all(status < 500 or status == 502 for status in statuses(answer)), answer[:300]


def test_after_all_that_it_serves(minilm: Running, echo: Running) -> None:
    assert post(echo.url + PATH, b'{"a": 1}').value == {"a": 1}
    assert len(post(minilm.url + PATH, b'{"text": "x"}').value["embeddings"][0]) == 384
    lines = [entry.line for entry in minilm.log]
    assert sum(line.startswith("INIT_START") for line in lines) <= 2, "no sandbox died"
    assert not any("exited" in line for line in lines)
