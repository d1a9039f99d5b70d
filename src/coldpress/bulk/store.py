"""The bucket of a local job: as much of S3 as the function asks for, over files of this machine.

The function reads and writes here as it does on AWS. It gets at the job's own files and at no others, and only who
has the job's key is answered: other people's processes can reach this address too.
"""

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import unquote, urlsplit

SOURCE, TARGET = "from", "to"
_PIECE = 1 << 20
#: seconds until it is noticed that no more is wanted
_NOTICE = 0.02


@dataclass(frozen=True)
class Files:
    """What is in the two buckets, by key: files with their tags, and places that may be written."""

    inputs: Mapping[str, tuple[Path, str]]
    outputs: Mapping[str, Path]
    key: str = field(default_factory=lambda: token_hex(16), repr=False)


@dataclass(frozen=True)
class Store:
    """A running one."""

    url: str
    key: str = field(repr=False)

    def environment(self) -> dict[str, str]:
        """What a function needs to know of it."""
        return {
            "AWS_ENDPOINT_URL_S3": self.url,
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.key,
            "AWS_SESSION_TOKEN": "",
        }


@contextmanager
def serving(files: Files) -> Iterator[Store]:
    """On any free port of this machine alone, while the block runs."""

    class Handler(_Handler):
        held = files

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, args=(_NOTICE,), name="local-bucket", daemon=True)
    thread.start()
    try:
        yield Store(f"http://127.0.0.1:{server.server_address[1]}", files.key)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    held: Files

    def do_GET(self) -> None:
        found = self._asked(SOURCE, self.held.inputs)
        if found is None:
            return
        path, tag = found
        try:
            with path.open("rb") as file:
                about = os.fstat(file.fileno())
                if self.headers.get("if-match") != tag or tag != tag_of(about):
                    self._refuse(412, "PreconditionFailed", f"{path} has changed since the job began")
                    return
                first, last = _range(self.headers.get("range", ""), about.st_size)
                file.seek(first)
                data = file.read(last + 1 - first)
        except (OSError, ValueError) as error:
            self._refuse(416 if isinstance(error, ValueError) else 404, type(error).__name__, str(error))
            return
        self.send_response(206)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_PUT(self) -> None:
        """To a file beside its place, then moved: what is there is whole."""
        path = self._asked(TARGET, self.held.outputs)
        if path is None:
            return
        left = int(self.headers.get("content-length", "0"))
        partial = path.with_name(f".{path.name}.{threading.get_ident()}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as file:
                while left and (piece := self.rfile.read(min(left, _PIECE))):
                    file.write(piece)
                    left -= len(piece)
            if left:  # who sent it is gone
                partial.unlink()
                self.close_connection = True
                return
            partial.replace(path)
        except OSError as error:
            self.close_connection = True  # what is left of the body is not read
            self._refuse(507, "NoSpace", f"{path} cannot be written: {error}")
            return
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _asked(self, bucket: str, known: Mapping[str, Any]) -> Any:
        """What a request is about; None where it was refused."""
        _, first, key = f"{unquote(urlsplit(self.path).path)}//".split("/", 2)
        key = key.removesuffix("//")
        if f"Credential={self.held.key}/" not in self.headers.get("authorization", ""):
            self.close_connection = True
            self._refuse(403, "AccessDenied", "this bucket is a job's own")
            return None
        if first != bucket or key not in known:
            self.close_connection = True
            self._refuse(404, "NoSuchKey", f"{key[:200]!r} is not of this job")
            return None
        return known[key]

    def _refuse(self, status: int, code: str, message: str) -> None:
        data = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *said: Any) -> None:
        """Nothing: the job tells how far it is."""


def local_tag(path: Path) -> str:
    return tag_of(path.stat())


def tag_of(about: os.stat_result) -> str:
    """What changes when a file does."""
    return f"{about.st_size:x}-{about.st_mtime_ns:x}"


def _range(said: str, size: int) -> tuple[int, int]:
    """The first and the last byte that are asked for, as S3 understands bytes=FIRST-LAST."""
    first, dash, last = said.removeprefix("bytes=").partition("-")
    if not said.startswith("bytes=") or not dash or not (first.isdecimal() and last.isdecimal()):
        raise ValueError(f"the range {said[:100]!r} is not bytes=FIRST-LAST")
    begin, end = int(first), min(int(last), size - 1)
    if begin > end:
        raise ValueError(f"the range {said} is beyond the file's {size} bytes")
    return begin, end
