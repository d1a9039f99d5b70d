"""A local Runtime API for one sandbox: hands invocations to it and takes its answers.

The states are Lambda's: init until the first /next, then an invocation at a time, each answered
once, by its own id.
"""

import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue

from coldpress.emulate.streams import Piece, Streamed, stream_of
from coldpress.errors import MissingExtra

try:
    import h11
except ImportError:
    raise MissingExtra("serve", "h11", "running a function on this machine") from None

PREFIX = "/2018-06-01/runtime"
LARGEST_ANSWER = 6 * 1024 * 1024 + 100


@dataclass(frozen=True)
class Outcome:
    """How an invocation ended: an answer, or an error as the runtime told it, in mid-stream perhaps."""

    ok: bool
    body: bytes
    #: time.monotonic() when the sandbox took the invocation, and when its answer was complete
    taken: float
    done: float
    streamed: Streamed | None = None


@dataclass(frozen=True)
class Ready:
    """The first /next: init is over."""

    at: float


@dataclass(frozen=True)
class InitFailed:
    body: bytes


@dataclass(frozen=True)
class _Pending:
    request_id: str
    event: bytes
    deadline_ms: int


@dataclass(frozen=True)
class _Request:
    method: str
    path: str
    body: bytes
    streamed: Streamed | None


class RuntimeApi:
    """Listens on loopback. What the sandbox says arrives in `told`; pieces of a stream in `heard` as they come."""

    def __init__(self) -> None:
        self.heard: Callable[[Piece], None] | None = None
        self.told: SimpleQueue[Ready | InitFailed | Outcome] = SimpleQueue()
        self._waiting: SimpleQueue[_Pending | None] = SimpleQueue()
        self._current: _Pending | None = None
        self._taken = 0.0
        self._ready = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True, name="runtime-api").start()

    def give(self, request_id: str, event: bytes, timeout: float) -> None:
        self._waiting.put(_Pending(request_id, event, int((time.time() + timeout) * 1000)))

    def close(self) -> None:
        self._waiting.put(None)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        http = h11.Connection(h11.SERVER)
        with connection:
            try:
                while True:
                    request = self._receive(http, connection)
                    if request is None:
                        return
                    status, headers, body = self._answer(request)
                    _send(http, connection, status, headers, body)
                    if http.our_state is h11.MUST_CLOSE:
                        return
                    http.start_next_cycle()
            except (OSError, h11.ProtocolError):  # the sandbox is gone, or is no HTTP client
                return

    def _answer(self, request: _Request) -> tuple[int, dict[str, str], bytes]:
        method, path = request.method, request.path
        if method == "GET" and path == f"{PREFIX}/invocation/next":
            return self._next()
        if method == "POST" and path == f"{PREFIX}/init/error":
            if self._ready:
                return _refused(403, "InvalidStateTransition", "init is over")
            self.told.put(InitFailed(request.body))
            return 202, {}, b'{"status":"OK"}\n'
        parts = path.removeprefix(f"{PREFIX}/invocation/").split("/")
        if method == "POST" and path.startswith(PREFIX) and len(parts) == 2 and parts[1] in ("response", "error"):
            return self._finish(parts[0], parts[1] == "response", request)
        return _refused(404, "NotFound", f"{method} {path}")

    def _next(self) -> tuple[int, dict[str, str], bytes]:
        if not self._ready:
            self._ready = True
            self.told.put(Ready(time.monotonic()))
        pending = self._waiting.get()
        if pending is None:
            return _refused(410, "Gone", "the sandbox is shutting down")
        self._current = pending
        self._taken = time.monotonic()
        headers = {
            "Lambda-Runtime-Aws-Request-Id": pending.request_id,
            "Lambda-Runtime-Deadline-Ms": str(pending.deadline_ms),
            "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:us-east-1:012345678912:function:function",
            "Lambda-Runtime-Trace-Id": "Root=1-00000000-000000000000000000000000;Sampled=0",
            "Content-Type": "application/json",
        }
        return 200, headers, pending.event

    def _finish(self, request_id: str, ok: bool, request: _Request) -> tuple[int, dict[str, str], bytes]:
        body, streamed = request.body, request.streamed
        done = time.monotonic()
        if self._current is None:
            return _refused(403, "InvalidStateTransition", "no invocation is waiting for an answer")
        if self._current.request_id != request_id:
            return _refused(400, "InvalidRequestID", f"the invocation under way is {self._current.request_id}")
        if streamed is None and len(body) > LARGEST_ANSWER:
            return _refused(413, "RequestEntityTooLarge", f"the answer has {len(body)} bytes of {LARGEST_ANSWER}")
        self._current = None
        whole = ok and (streamed is None or streamed.error is None)
        self.told.put(Outcome(whole, body, self._taken, done, streamed))
        return 202, {}, b'{"status":"OK"}\n'

    def _receive(self, http: h11.Connection, connection: socket.socket) -> _Request | None:
        """The next request; None when the peer hung up."""
        request: h11.Request | None = None
        streamed: Streamed | None = None
        body = bytearray()
        while True:
            event = http.next_event()
            if event is h11.NEED_DATA:
                http.receive_data(connection.recv(65536))
            elif isinstance(event, h11.Request):
                request, streamed = event, stream_of(event.headers, self.heard)
            elif isinstance(event, h11.Data) and streamed is not None:
                streamed.take(bytes(event.data), event.chunk_end)
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                assert request is not None
                if streamed is not None:
                    streamed.end(event.headers)
                    body += streamed.body
                return _Request(request.method.decode(), request.target.decode(), bytes(body), streamed)
            else:
                return None


def _refused(status: int, kind: str, message: str) -> tuple[int, dict[str, str], bytes]:
    return status, {}, f'{{"errorType": "{kind}", "errorMessage": "{message}"}}'.encode()


def _send(
    http: h11.Connection, connection: socket.socket, status: int, headers: dict[str, str], body: bytes
) -> None:
    fields = [*headers.items(), ("Content-Length", str(len(body)))]
    parts = [http.send(h11.Response(status_code=status, headers=fields)), http.send(h11.Data(data=body))]
    parts.append(http.send(h11.EndOfMessage()))
    connection.sendall(b"".join(part for part in parts if part))
