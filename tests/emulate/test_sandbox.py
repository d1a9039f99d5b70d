"""The local sandbox: what it does when a function misbehaves, on functions written for the purpose."""

import http.client
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldpress.emulate.runtime_api import Ready, RuntimeApi
from coldpress.emulate.sandbox import Sandbox
from coldpress.emulate.sandboxes.invocation import Outcome
from coldpress.emulate.sandboxes.rules import PREFIX
from coldpress.errors import FunctionError
from coldpress_runtime.runtime_api import RuntimeApi as Client


def function(folder: Path, script: str) -> Path:
    path = folder / "bootstrap"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return folder


def test_a_process_that_ends(tmp_path: Path) -> None:
    with Sandbox(function(tmp_path, "echo oh no; exit 3")) as sandbox, pytest.raises(FunctionError) as caught:
        sandbox.invoke(b"{}")
    assert "exit code 3" in str(caught.value)
    assert "oh no" in str(caught.value)


def test_a_process_that_is_killed(tmp_path: Path) -> None:
    with Sandbox(function(tmp_path, "kill -9 $$")) as sandbox, pytest.raises(FunctionError, match="SIGKILL"):
        sandbox.invoke(b"{}")


def test_an_invocation_that_takes_too_long(tmp_path: Path) -> None:
    (tmp_path / "ask.py").write_text(
        "import os, urllib.request\n"
        f"urllib.request.urlopen('http://' + os.environ['AWS_LAMBDA_RUNTIME_API'] + '{PREFIX}/invocation/next')\n"
    )
    script = '"$1" ask.py; sleep 60'
    began = time.monotonic()
    with Sandbox(function(tmp_path, script), timeout=0.5) as sandbox:
        with pytest.raises(FunctionError, match=r"the invocation took longer than 0\.5 s"):
            sandbox.invoke(b"{}")
        pid = sandbox.pid
    assert time.monotonic() - began < 5
    assert not Path(f"/proc/{pid}").exists()


def test_no_bootstrap(tmp_path: Path) -> None:
    with pytest.raises(FunctionError, match="no executable"), Sandbox(tmp_path):
        pass


class TestRuntimeApi:
    """States and statuses as Lambda's own Runtime API has them."""

    @pytest.fixture
    def api(self) -> RuntimeApi:
        return RuntimeApi()

    def call(self, api: RuntimeApi, method: str, path: str, body: bytes = b"") -> tuple[int, bytes, str | None]:
        connection = http.client.HTTPConnection(api.address, timeout=5)
        connection.request(method, PREFIX + path, body if method == "POST" else None)
        answer = connection.getresponse()
        result = answer.status, answer.read(), answer.headers.get("Lambda-Runtime-Aws-Request-Id")
        connection.close()
        return result

    def test_one_invocation(self, api: RuntimeApi) -> None:
        api.give("id-1", b'{"a": 1}', 30)
        assert self.call(api, "GET", "/invocation/next") == (200, b'{"a": 1}', "id-1")
        assert isinstance(api.told.get(timeout=1), Ready)
        assert self.call(api, "POST", "/invocation/other/response", b"x")[0] == 400
        assert self.call(api, "POST", "/invocation/id-1/response", b"answer")[0] == 202
        outcome = api.told.get(timeout=1)
        assert isinstance(outcome, Outcome)
        assert (outcome.ok, outcome.body) == (True, b"answer")
        assert self.call(api, "POST", "/invocation/id-1/response", b"again")[0] == 403
        api.close()

    def test_an_answer_past_the_limit(self, api: RuntimeApi) -> None:
        api.give("id-1", b"{}", 30)
        self.call(api, "GET", "/invocation/next")
        assert self.call(api, "POST", "/invocation/id-1/response", b"x" * (6 * 1024 * 1024 + 101))[0] == 413
        assert self.call(api, "POST", "/invocation/id-1/response", b"x")[0] == 403, "that was its answer"
        api.give("id-2", b"{}", 30)
        self.call(api, "GET", "/invocation/next")
        assert self.call(api, "POST", "/invocation/id-2/response", b"x" * (6 * 1024 * 1024 + 100))[0] == 202
        api.close()

    def test_init_errors_only_during_init(self, api: RuntimeApi) -> None:
        assert self.call(api, "POST", "/init/error", b"{}")[0] == 202
        api.give("id-1", b"{}", 30)
        self.call(api, "GET", "/invocation/next")
        assert self.call(api, "POST", "/init/error", b"{}")[0] == 403
        api.close()

    @settings(max_examples=30, deadline=None)
    @given(pieces=st.lists(st.binary(max_size=200), max_size=6), fails=st.booleans(), over_http=st.booleans())
    def test_a_stream_in_any_pieces(self, pieces: list[bytes], fails: bool, over_http: bool) -> None:
        """Sent by our own client: every piece arrives by itself, the error in the trailers, the prelude before."""

        def made() -> Iterator[bytes]:
            if over_http:
                yield b'{"statusCode": 200}' + bytes(8)
            yield from pieces
            if fails:
                raise ValueError("no\r\nmore: é")

        api = RuntimeApi()
        api.give("id-1", b"{}", 30)
        client = Client(api.address)
        assert client.next().request_id == "id-1"
        kind = "application/vnd.awslambda.http-integration-response" if over_http else "text/plain"
        assert client.stream("id-1", kind, made()) == 202
        assert isinstance(api.told.get(timeout=1), Ready)
        outcome = api.told.get(timeout=1)
        assert isinstance(outcome, Outcome)
        assert outcome.streamed is not None
        assert [piece.data for piece in outcome.streamed.pieces] == [piece for piece in pieces if piece]
        assert outcome.streamed.prelude == ({"statusCode": 200} if over_http else None)
        assert outcome.ok is not fails
        if fails:
            assert outcome.streamed.error is not None
            assert outcome.streamed.error["errorMessage"] == "no\r\nmore: é"
        client.close()
        api.close()

    def test_unknown_paths(self, api: RuntimeApi) -> None:
        assert self.call(api, "GET", "/nothing")[0] == 404
        assert self.call(api, "POST", "/invocation/next", b"")[0] == 405
        api.close()
