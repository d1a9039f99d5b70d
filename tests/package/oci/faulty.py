"""A registry that misbehaves on order: between us and a real one, with a token office of its own."""

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Fault:
    """What happens to the next `times` requests of a `method` whose path contains `part`."""

    method: str
    part: str
    does: Callable[["Handler"], None]
    times: int = 1


@dataclass
class Faulty:
    real: str
    address: str = ""
    faults: list[Fault] = field(default_factory=list)
    #: the token that opens the door; None for a door that is open
    token: str | None = None
    seen: list[str] = field(default_factory=list)
    tokens_given: int = 0
    stalled: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    def next_fault(self, method: str, path: str) -> Fault | None:
        for fault in self.faults:
            if fault.times and fault.method == method and fault.part in path:
                fault.times -= 1
                return fault
        return None


def status(code: int, **headers: str) -> Callable[["Handler"], None]:
    def does(handler: "Handler") -> None:
        handler.read_body()
        handler.answer(code, {name.replace("_", "-"): value for name, value in headers.items()}, b"{}")

    return does


def cut_answer(after: int) -> Callable[["Handler"], None]:
    """Promise all, give `after` bytes, hang up."""

    def does(handler: "Handler") -> None:
        code, headers, body = handler.forward()
        handler.answer(code, headers, body[:after], promised=len(body))
        handler.close_connection = True

    return does


def cut_request(handler: "Handler") -> None:
    """Hang up while the body is still being sent."""
    handler.rfile.read(1000)
    handler.close_connection = True
    handler.connection.close()


def changed(change: Callable[[bytes], bytes], **headers: str) -> Callable[["Handler"], None]:
    def does(handler: "Handler") -> None:
        code, there, body = handler.forward()
        handler.answer(
            code, there | {name.replace("_", "-"): text for name, text in headers.items()}, change(body)
        )

    return does


def stall(handler: "Handler") -> None:
    """Begin, and never go on."""
    code, headers, body = handler.forward()
    handler.answer(code, headers, body[:1_000_000], promised=len(body))
    handler.faulty.stalled.set()
    handler.faulty.over.wait(60)
    handler.close_connection = True


def expire(handler: "Handler") -> None:
    """The token runs out just now."""
    handler.faulty.token = f"{handler.faulty.token}+"
    handler.read_body()
    handler.refuse()


class Handler(BaseHTTPRequestHandler):
    faulty: Faulty
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Silent."""

    def handle_any(self) -> None:
        self.faulty.seen.append(f"{self.command} {urlsplit(self.path).path}")
        if self.path.startswith("/token"):
            self.faulty.tokens_given += 1
            self.answer(200, {}, f'{{"token": "{self.faulty.token}"}}'.encode())
            return
        fault = self.faulty.next_fault(self.command, self.path)
        if fault is not None:
            fault.does(self)
        elif self.faulty.token is not None and self.headers.get("authorization") != f"Bearer {self.faulty.token}":
            self.read_body()
            self.refuse()
        else:
            self.answer(*self.forward())

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = handle_any  # noqa: N815

    def refuse(self) -> None:
        realm = f'Bearer realm="http://{self.faulty.address}/token",service="tests"'
        self.answer(401, {"www-authenticate": realm}, b"{}")

    def read_body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length", 0)))

    def forward(self) -> tuple[int, dict[str, str], bytes]:
        real = http.client.HTTPConnection(self.faulty.real)
        # The registry makes its own addresses from the host that it is asked by: ours.
        headers = {name: value for name, value in self.headers.items() if name.lower() != "authorization"}
        real.request(self.command, self.path, self.read_body(), headers)
        answer = real.getresponse()
        body = answer.read()
        real.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body

    def answer(self, code: int, headers: dict[str, str], body: bytes, promised: int | None = None) -> None:
        self.send_response(code)
        headers = headers if self.command == "HEAD" else headers | {"content-length": str(promised or len(body))}
        for name, value in headers.items():
            if name not in ("date", "server", "transfer-encoding"):
                self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def faulty_registry(real: str) -> Iterator[Faulty]:
    faulty = Faulty(real)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Own", (Handler,), {"faulty": faulty}))
    faulty.address = f"127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield faulty
    faulty.over.set()
    server.shutdown()
    server.server_close()
    thread.join()
