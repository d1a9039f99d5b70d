"""Models by their address, from a real server with a certificate: what is allowed, at every step of the way."""

import http.server
import ssl
import subprocess
import threading
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.errors import IntakeError, ModelNotFound, UsageError
from coldpress.intake import Options, find, web

Server = tuple[str, ssl.SSLContext]


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        host = self.headers["host"]
        away = {
            "/moved": f"https://{host}/model.onnx",
            "/plain": f"http://{host}/model.onnx",
            "/elsewhere": "https://evil.example/model.onnx",
            "/local": "file:///etc/passwd",
            "/loop": f"https://{host}/loop",
        }
        if self.path in away:
            self.send_response(302)
            self.send_header("location", away[self.path])
            self.send_header("content-length", "0")
            self.end_headers()
            return
        if self.path == "/missing.onnx":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("content-length", "900" if self.path == "/short.onnx" else "5")
        self.end_headers()
        self.wfile.write(b"bytes")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(certificate, key)
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    made.socket = secure.wrap_socket(made.socket, server_side=True)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield f"localhost:{made.server_port}", ssl.create_default_context(cafile=str(certificate))
    made.shutdown()
    made.server_close()


@pytest.fixture(autouse=True)
def allowed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDPRESS_HOSTS", server[0])


@pytest.mark.parametrize("path", ["model.onnx", "moved"])
def test_a_file_is_fetched(path: str, server: Server, tmp_path: Path) -> None:
    host, context = server
    assert web.fetch(f"https://{host}/{path}", tmp_path, context).read_bytes() == b"bytes"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("plain", "is not https"),
        ("elsewhere", r"evil\.example is not among the hosts"),
        ("local", "Redirection to url 'file:///etc/passwd' is not allowed"),
    ],
)
def test_a_redirect_is_looked_at_like_the_address(path: str, message: str, server: Server, tmp_path: Path) -> None:
    host, context = server
    with pytest.raises((UsageError, ModelNotFound), match=message):
        web.fetch(f"https://{host}/{path}", tmp_path, context)
    assert not any(tmp_path.iterdir())


def test_what_goes_wrong_is_said(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host, context = server
    for path, message in (
        ("missing.onnx", "answers 404"),
        ("short.onnx", "ended after 5 of 900 bytes|could not be fetched"),
        ("loop", "answers 302"),
    ):
        (tmp_path / path).mkdir()
        with pytest.raises(ModelNotFound, match=message):
            web.fetch(f"https://{host}/{path}", tmp_path / path, context)
    monkeypatch.setattr(web, "MOST_BYTES", 4)
    with pytest.raises(IntakeError, match="has 5 bytes; the limit is 4"):
        web.fetch(f"https://{host}/model.onnx", tmp_path, context)


def test_a_certificate_that_nobody_knows(server: Server, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match="CERTIFICATE_VERIFY_FAILED"):
        web.fetch(f"https://{server[0]}/model.onnx", tmp_path)


@pytest.mark.parametrize(
    "url",
    [
        "http://huggingface.co/model.onnx",
        "ftp://huggingface.co/model.onnx",
        "file:///etc/passwd",
        "https://huggingface.co.evil.example/model.onnx",
        "https://evil.example/huggingface.co/model.onnx",
        "https://me:secret@huggingface.co/model.onnx",
        "https://huggingface.co:8443/model.onnx",
        "https:///model.onnx",
    ],
)
def test_addresses_that_are_refused(url: str) -> None:
    with pytest.raises(UsageError), find(url, Options()):
        pass


@given(text=st.text(max_size=60))
def test_no_other_host_gets_through(text: str) -> None:
    try:
        web.check_address(f"https://{text}/model.onnx")
    except (UsageError, ValueError):
        return
    host = text.partition("/")[0].partition("?")[0].partition("#")[0].lower()
    assert any(fnmatch(host, allowed) for allowed in web.HOSTS) or "localhost" in host


def test_the_hub_must_be_an_allowed_host(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    from coldpress.intake.hub import download

    monkeypatch.setattr(constants, "ENDPOINT", "http://localhost:1")
    with pytest.raises(UsageError, match="is not https"):
        download("somebody/model", None)
