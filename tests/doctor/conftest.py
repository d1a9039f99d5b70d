"""Artifacts to plant problems in, and AWS's two services that the doctor asks, on loopback."""

import json
import os
import shutil
import struct
import threading
from collections.abc import Callable, Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import time
from typing import Any
from urllib.parse import parse_qs

import pytest

from coldpress.artifact import Artifact
from coldpress.doctor import Finding, Settings, examine

_HEADER, _SEGMENT = 64, 56  # bytes of an ELF file's


@pytest.fixture
def demo(measured: Artifact, tmp_path: Path) -> Path:
    """A copy of the pressed MiniLM with its bench.json, to do harm to."""
    copy = tmp_path / "minilm"
    shutil.copytree(measured.path, copy)
    return copy


@pytest.fixture(scope="session")
def edit() -> Callable[[Path, Callable[[dict[str, Any]], object]], None]:
    """Changes a JSON file."""

    def edit_it(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
        content = json.loads(path.read_text(encoding="utf-8"))
        change(content)
        path.write_text(json.dumps(content), encoding="utf-8")

    return edit_it


@pytest.fixture(scope="session")
def found() -> Callable[..., Finding]:
    """The one finding of a name. What is not green says why, and what to do."""

    def find(folder: Path, name: str, settings: Settings | None = None) -> Finding:
        findings = examine(folder, settings or Settings())
        assert all(one.fix and one.why for one in findings if one.level != "green")
        (finding,) = [one for one in findings if one.name == name]
        return finding

    return find


@pytest.fixture(scope="session")
def elf() -> Callable[..., bytes]:
    """Shared libraries as small as can be: a dynamic table, and a list of needed versions."""
    return _elf


def _elf(versions: list[str], machine: int = 62, file: str = "libc.so.6") -> bytes:
    """A library that asks `file` for these symbol versions; stripped, so without sections."""
    strings = b"\0" + file.encode() + b"\0"
    names = []
    for version in versions:
        names.append(len(strings))
        strings += version.encode() + b"\0"
    base = 0x1000  # addresses are not offsets, as in most libraries
    at_strings = _HEADER + 2 * _SEGMENT
    at_needed = at_strings + len(strings)
    needed = b""
    if versions:
        needed = struct.pack("<HHIII", 1, len(versions), 1, 16, 0)
        for number, name in enumerate(names):
            last = number == len(names) - 1
            needed += struct.pack("<IHHII", 0, 0, number + 2, name, 0 if last else 16)
    at_dynamic = at_needed + len(needed)
    tags = [(5, base + at_strings)]
    if versions:
        tags += [(0x6FFFFFFE, base + at_needed), (0x6FFFFFFF, 1)]
    dynamic = b"".join(struct.pack("<QQ", *tag) for tag in [*tags, (0, 0)])
    size = at_dynamic + len(dynamic)
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 3, machine, 1, 0, _HEADER, 0, 0, _HEADER, _SEGMENT, 2, 0, 0, 0
    )
    segments = struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, size, size, 4096)
    segments += struct.pack(
        "<IIQQQQQQ", 2, 6, at_dynamic, base + at_dynamic, base + at_dynamic, len(dynamic), len(dynamic), 8
    )
    return header + segments + strings + needed + dynamic


class Aws(ThreadingHTTPServer):
    """Answers by the name of the action; what it was asked is kept."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        #: action → status, body
        self.answers: dict[str, tuple[int, str]] = {}
        self.asked: list[dict[str, str]] = []
        #: seconds that its clock is ahead of ours; None sends no date
        self.ahead: float | None = 0.0
        self.released = threading.Event()
        self.silent = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, Aws)
        fields = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        asked = {name: values[0] for name, values in fields.items()}
        server.asked.append(asked)
        if server.silent:
            server.released.wait(10)
            return
        status, body = server.answers.get(asked["Action"], (404, ""))
        self.send_response_only(status)
        if server.ahead is not None:
            self.send_header("Date", formatdate(time() + server.ahead, usegmt=True))
        self.send_header("Content-Type", "text/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        return


@pytest.fixture
def no_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of whoever runs the tests: no keys, no files, no metadata service."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no-credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def aws(no_account: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    """Keys, a region, and both services at one address."""
    server = Aws()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    yield server
    server.released.set()
    server.shutdown()
    thread.join()
    server.server_close()
