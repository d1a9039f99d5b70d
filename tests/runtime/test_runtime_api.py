"""Our client of the Runtime API, against servers that answer in every legal way."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldpress_runtime.runtime_api import Lost, RuntimeApi

HEAD = b"Lambda-Runtime-Aws-Request-Id: abc\r\nLambda-Runtime-Deadline-Ms: 1\r\n"


@contextmanager
def server(pieces: list[bytes]) -> Iterator[tuple[RuntimeApi, list[bytes]]]:
    """Accepts one connection and sends `pieces`, one send each, after the request's head came."""
    listener = socket.create_server(("127.0.0.1", 0))
    heard: list[bytes] = []

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            heard.append(connection.recv(65536))
            for piece in pieces:
                connection.sendall(piece)

    thread = threading.Thread(target=serve)
    thread.start()
    api = RuntimeApi(f"127.0.0.1:{listener.getsockname()[1]}")
    try:
        yield api, heard
    finally:
        api.close()
        thread.join()
        listener.close()


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    pieces, at = [], 0
    for size in sizes:
        pieces.append(data[at : at + size])
        at += size
    return [piece for piece in [*pieces, data[at:]] if piece]


@settings(max_examples=60, deadline=None)
@given(body=st.binary(max_size=3000), sizes=st.lists(st.integers(1, 400), max_size=12))
def test_a_body_with_a_length_in_any_pieces(body: bytes, sizes: list[int]) -> None:
    answer = b"HTTP/1.1 200 OK\r\n" + HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    with server(cut(answer, sizes)) as (api, heard):
        invocation = api.next()
    assert (invocation.request_id, invocation.body) == ("abc", body)
    assert heard[0].startswith(b"GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: 127.0.0.1:")


@settings(max_examples=60, deadline=None)
@given(
    parts=st.lists(st.binary(min_size=1, max_size=800), max_size=5),
    sizes=st.lists(st.integers(1, 400), max_size=12),
)
def test_a_chunked_body_in_any_pieces(parts: list[bytes], sizes: list[int]) -> None:
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    answer = b"HTTP/1.1 200 OK\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    with server(cut(answer, sizes)) as (api, _):
        assert api.next().body == b"".join(parts)


def test_an_interim_answer_is_passed_over() -> None:
    answer = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok"
    with server([answer]) as (api, heard):
        assert api.respond("abc", b'{"a": 1}') == 202
    assert heard[0].endswith(b'Content-Length: 8\r\n\r\n{"a": 1}')


def test_an_error_carries_its_kind_and_no_stack() -> None:
    with server([b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"]) as (api, heard):
        api.fail_init("Runtime.LoadError", "a part is missing")
    head, _, body = heard[0].partition(b"\r\n\r\n")
    assert b"POST /2018-06-01/runtime/init/error" in head
    assert b"Lambda-Runtime-Function-Error-Type: Runtime.LoadError" in head
    assert body == b'{"errorMessage": "a part is missing", "errorType": "Runtime.LoadError", "stackTrace": []}'


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
    ],
    ids=["hung up", "cut off", "not HTTP", "refused"],
)
def test_a_lost_api_is_said(answer: bytes) -> None:
    with server([answer] if answer else []) as (api, _), pytest.raises(Lost):
        api.next()


def test_the_connection_is_opened_again_after_a_close() -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for _ in range(2):
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\n" + HEAD + b"Connection: close\r\nContent-Length: 1\r\n\r\n1"
                )

    thread = threading.Thread(target=serve)
    thread.start()
    api = RuntimeApi(f"127.0.0.1:{listener.getsockname()[1]}")
    assert [api.next().body, api.next().body] == [b"1", b"1"]
    thread.join()
    listener.close()
