"""The Runtime API for one sandbox that is waited for: builds and benchmarks start a function, ask it, and go on.

The rules are those of the local Lambda; only the plumbing is simpler: a thread for each connection.
"""

import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue

from coldpress.emulate.sandboxes.invocation import Invocation, Outcome
from coldpress.emulate.sandboxes.rules import Headers, Rules, Told
from coldpress.emulate.sandboxes.streams import Piece, Streamed, stream_of
from coldpress.errors import MissingExtra

try:
    import h11
except ImportError:
    raise MissingExtra("serve", "h11", "running a function on this machine") from None


@dataclass(frozen=True)
class Ready:
    """The first /next: init is over."""

    at: float


@dataclass(frozen=True)
class InitFailed:
    body: bytes


class RuntimeApi:
    """Listens on loopback. What the sandbox says arrives in `told`; pieces of a stream in `heard` as they come."""

    def __init__(self) -> None:
        self.heard: Callable[[Piece], None] | None = None
        self.told: SimpleQueue[Ready | InitFailed | Outcome] = SimpleQueue()
        self._rules = Rules(self)
        self._turn = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True, name="runtime-api").start()

    def give(self, request_id: str, event: bytes, timeout: float) -> None:
        deadline = int((time.time() + timeout) * 1000)
        trace = "Root=1-00000000-000000000000000000000000;Sampled=0"
        with self._turn:
            self._rules.give(Invocation(event, request_id, trace_id=trace, deadline_ms=deadline))

    def close(self) -> None:
        with self._turn:
            self._rules.close()
        self._listener.close()

    # what the rules tell

    def ready(self) -> None:
        self.told.put(Ready(time.monotonic()))

    def init_failed(self, error_type: str, body: bytes) -> None:
        self.told.put(InitFailed(body))

    def finished(self, invocation: Invocation, outcome: Outcome) -> None:
        self.told.put(outcome)

    def taken(self, invocation: Invocation) -> None:
        return

    def waiting(self) -> None:
        return

    def restorable(self) -> None:
        return

    # HTTP

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
        answers: SimpleQueue[tuple[int, Headers, bytes]] = SimpleQueue()
        with connection:
            try:
                while True:
                    request = self._receive(http, connection)
                    if request is None:
                        return
                    with self._turn:
                        self._rules.heard(request, lambda *answer: answers.put(answer))
                    _send(http, connection, *answers.get())
                    if http.our_state is h11.MUST_CLOSE:
                        return
                    http.start_next_cycle()
            except (OSError, h11.ProtocolError):  # the sandbox is gone, or is no HTTP client
                return

    def _receive(self, http: h11.Connection, connection: socket.socket) -> Told | None:
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
                headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers}
                return Told(request.method.decode(), request.target.decode(), headers, bytes(body), streamed)
            else:
                return None


def _send(http: h11.Connection, connection: socket.socket, status: int, headers: Headers, body: bytes) -> None:
    fields = [*headers.items(), ("Content-Length", str(len(body)))]
    parts = [http.send(h11.Response(status_code=status, headers=fields)), http.send(h11.Data(data=body))]
    parts.append(http.send(h11.EndOfMessage()))
    connection.sendall(b"".join(part for part in parts if part))
