"""A living sandbox: one environment's conversation with its runtime, its state and its clock."""

import asyncio
import signal
import socket
import time
from typing import Any, Protocol

from coldpress.emulate.sandboxes.alarms import Alarms
from coldpress.emulate.sandboxes.errors import ending, error_body, timed_out
from coldpress.emulate.sandboxes.extensions import PREFIX as EXTENSIONS
from coldpress.emulate.sandboxes.extensions import Extensions
from coldpress.emulate.sandboxes.invocation import Answered, Invocation, Outcome
from coldpress.emulate.sandboxes.process import Process
from coldpress.emulate.sandboxes.reports import Start, make_report
from coldpress.emulate.sandboxes.rules import Rules, Told
from coldpress.emulate.sandboxes.settings import Settings
from coldpress.emulate.sandboxes.streams import MODE, Sink, Streamed, sink_for
from coldpress.emulate.wire import Connection, Request
from coldpress.emulate.world.namespaces import Spawned

#: Lambda freezes a sandbox soon after it asks for work and there is none
_FREEZE_AFTER = 0.02
#: how long an invocation waits for a runtime that has answered and not yet asked again
_BACK_WITHIN = 0.05
_TAIL = 4096
#: what extensions have to put their affairs in order
_LAST_WORDS = 2.0


class Owner(Protocol):
    """Who started a sandbox and wants to know how it fares."""

    def ready(self, sandbox: "LiveSandbox") -> None: ...
    def restoring(self, sandbox: "LiveSandbox") -> None: ...
    def init_failed(self, sandbox: "LiveSandbox", error_type: str, body: bytes) -> None: ...
    def began(self, sandbox: "LiveSandbox", invocation: Invocation) -> None: ...
    def answered(self, sandbox: "LiveSandbox", invocation: Invocation, answered: Answered) -> None: ...
    def free(self, sandbox: "LiveSandbox") -> None: ...
    def returned(self, invocation: Invocation) -> None: ...
    def ended(self, sandbox: "LiveSandbox") -> None: ...
    def wrote(self, sandbox: "LiveSandbox", line: bytes) -> None: ...


class LiveSandbox:
    """Starts at once. `phase` is init, or invoke when an earlier init failed and somebody waits."""

    #: of the answers that come by the Runtime API: rules cut them, not the wire
    largest = 1 << 40
    #: AWS's own client tells stack traces in a header
    largest_head = 1 << 20

    def __init__(
        self,
        name: str,
        spawned: Spawned,
        owner: Owner,
        settings: Settings,
        *,
        kind: str = "on-demand",
        phase: str = "init",
        extensions: frozenset[str] = frozenset(),
    ) -> None:
        self.name = name
        self.kind = kind
        self.phase = phase
        self.state = "starting"
        self.started = time.monotonic()
        self.started_at = time.time()
        self.last_used = self.started
        self.init_ms: float | None = None
        self.restore_ms: float | None = None
        self.invocations = 0
        self.tail = b""
        #: when the function's own process began: what comes before is not its init
        self._born = self.started
        self._restored_from: float | None = None
        self._settings = settings
        self._owner = owner
        self._rules = Rules(self, settings.at_once, restores=kind == "snap-start")
        self._extensions = Extensions(extensions, settings.name, self._extension_waits)
        self._loop = asyncio.get_running_loop()
        self._peak = 0.0
        self._alarms = Alarms(self._loop)
        self._server: asyncio.Server | None = None
        self._connections: set[Connection] = set()
        self._init_over = False
        self._process = Process(spawned, self)
        if spawned.listener is not None:
            self.listening(spawned.listener)
        self._alarms.set("init", self._init_limit, self._init_too_long)

    # what the fleet does with it

    @property
    def room(self) -> int:
        is_open = self.state in ("idle", "busy", "frozen") and self._extensions.idle
        return self._rules.room if is_open else 0

    @property
    def busy(self) -> bool:
        return bool(self._rules.running or self._rules.queued)

    @property
    def served(self) -> bool:
        """Whether it ever asked for work."""
        return self._rules.is_ready

    def invoke(self, invocation: Invocation) -> None:
        """Hand over an invocation; the owner is told how it ends, or gets it back when it was not taken."""
        self._thaw()
        self.state = "busy"
        self.last_used = invocation.placed = time.monotonic()
        self._rules.give(invocation)
        if invocation in self._rules.queued:
            self._loop.call_later(_BACK_WITHIN, self._give_back, invocation)

    def kill(self) -> None:
        """End it now, with all that it started."""
        self.state = "ended"
        self._process.kill()

    def shut_down(self, reason: str) -> None:
        """Take it down: whoever asked to be told is told first."""
        self._thaw()
        self.state = "ended"
        if not self._extensions.want_shutdown:  # as on Lambda: without extensions nobody is asked
            self.kill()
            return
        self._process.leaving = True
        self._extensions.shut_down(reason, _LAST_WORDS)
        self._process.signal(signal.SIGTERM, all_of_them=False)
        self._loop.call_later(_LAST_WORDS, self.kill)

    def peak_mb(self) -> float:
        """The most that it had so far."""
        self._peak = max(self._peak, self._process.megabytes(b"VmHWM"))
        return self._peak

    def keep(self, line: bytes) -> None:
        """Remember a line of the log for who asked for its tail."""
        self.tail = (self.tail + line + b"\n")[-_TAIL:]

    def facts(self) -> dict[str, Any]:
        return {
            "id": self.name,
            "state": self.state,
            "type": self.kind,
            "invocations": self.invocations,
            "started": round(self.started_at, 3),
            "init_ms": None if self.init_ms is None else round(self.init_ms, 2),
            "memory_mb": round(self._process.megabytes(b"VmRSS"), 1),
            "peak_mb": round(self._peak, 1),
        }

    # what the runtime says: a rules.Listener

    def ready(self) -> None:
        if self._init_over or not self._extensions.ready:
            return
        self._init_over = True
        self._alarms.stop("init")
        self._born = max(self._born, self._process.look_inside())
        now = time.monotonic()
        self.init_ms = ((self._restored_from or now) - self._born) * 1000
        if self._restored_from is not None:
            self.restore_ms = (now - self._restored_from) * 1000
        if self.state == "starting":
            self.state = "idle"
        self._owner.ready(self)

    def restorable(self) -> None:
        """Where Lambda would take its snapshot. Here it goes on at once: what comes until /next is the restore."""
        self._restored_from = time.monotonic()
        self._owner.restoring(self)
        self._rules.restore()

    def init_failed(self, error_type: str, body: bytes) -> None:
        if self._init_over:
            return
        self._init_over = True
        self._alarms.stop("init")
        self._process.read_log()
        self.state = "ended"
        self.init_ms = (time.monotonic() - self._born) * 1000
        self._owner.init_failed(self, error_type, body)

    def taken(self, invocation: Invocation) -> None:
        self.invocations += 1
        if self.phase == "invoke" and self.invocations == 1:
            invocation.taken = self._born
        left = self._settings.timeout - (time.monotonic() - invocation.taken)
        invocation.deadline_ms = int((time.time() + left) * 1000)
        self.tail = b""
        self._owner.began(self, invocation)
        self._extensions.invoke(invocation)
        self._alarms.set(invocation.request_id, left, lambda: self._timed_out(invocation))

    def finished(self, invocation: Invocation, outcome: Outcome) -> None:
        if not self._alarms.stop(invocation.request_id):  # too late: it was told to have timed out
            return
        self._process.read_log()
        self._report(invocation, outcome, "success" if outcome.ok else "error")
        self._owner.free(self)

    def waiting(self) -> None:
        closed = not self._init_over or self.state in ("ended", "frozen")
        if closed or self.busy or not self._extensions.idle:
            return
        self.state = "idle"
        self._alarms.set("freeze", _FREEZE_AFTER, self._freeze)
        self._owner.free(self)

    def _extension_waits(self) -> None:
        if not self._init_over and self._rules.is_ready:
            self.ready()
        if self._init_over and self._rules.asking:
            self.waiting()

    # HTTP of the Runtime API: a wire.Service

    def joined(self, connection: Connection) -> None:
        self._connections.add(connection)

    def opened(self, request: Request) -> None:
        if MODE in request.headers:
            request.sink = sink_for(request, self._rules.running)

    def serve(self, request: Request) -> None:
        streamed: Streamed | None = None
        body = bytes(request.body)
        if isinstance(request.sink, Sink):
            streamed = request.sink.streamed
            streamed.end((name.encode(), value.encode("latin-1")) for name, value in request.trailers.items())
            body = streamed.body
        told = Told(request.method, request.path, request.headers, body, streamed)
        by = self._extensions if told.path.startswith(EXTENSIONS) else self._rules
        by.heard(told, request.connection.reply)

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)

    # what its processes do: a process.Watcher

    def listening(self, listener: socket.socket) -> None:
        async def start() -> None:
            self._server = await self._loop.create_server(lambda: Connection(self), sock=listener)

        self._starting = self._loop.create_task(start())

    def born(self) -> None:
        self._born = time.monotonic()
        if self._alarms.stop("init"):  # the clock runs from here
            self._alarms.set("init", self._init_limit, self._init_too_long)

    def wrote(self, line: bytes) -> None:
        self._owner.wrote(self, line)

    def exited(self, status: int) -> None:
        out_of_memory = self._process.ran_out(status)
        kind = "Runtime.OutOfMemory" if out_of_memory else "Runtime.ExitError"
        self._process.read_log()
        if out_of_memory:
            self._peak = float(self._settings.memory_mb)
        self.init_failed(kind, error_body(kind, f"Error: {ending(status)}"))
        for invocation in self._rules.running:
            self._lose(invocation, error_body(kind, ending(status), invocation.request_id), kind, "error")
        self.state = "ended"
        for invocation in self._rules.queued:
            self._give_back(invocation)

    def gone(self) -> None:
        self.exited(signal.SIGKILL)
        self._alarms.stop_all()
        if self._server is not None:
            self._server.close()
        for connection in [*self._connections]:
            connection.abort()

    def cleared(self) -> None:
        self._owner.ended(self)

    # how invocations end

    def _timed_out(self, invocation: Invocation) -> None:
        message = timed_out(self._settings.timeout)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + f".{int(time.time() * 1000) % 1000:03d}Z"
        self.wrote(f"{stamp} {invocation.request_id} {message}".encode())
        kind = "Sandbox.Timedout"
        self._lose(invocation, error_body(kind, message, invocation.request_id), kind, "timeout")
        self.kill()

    def _init_too_long(self) -> None:
        self.init_failed("timeout", b"")
        self.kill()

    @property
    def _init_limit(self) -> float:
        return self._settings.init_timeout if self.phase == "init" else self._settings.timeout

    def _give_back(self, invocation: Invocation) -> None:
        if self._rules.withdraw(invocation):
            self._owner.returned(invocation)

    def _lose(self, invocation: Invocation, body: bytes, kind: str, status: str) -> None:
        """End an invocation whose sandbox cannot answer it any more; once."""
        self._process.read_log()
        if self._alarms.stop(invocation.request_id):
            now = time.monotonic()
            outcome = Outcome(False, body, invocation.taken or invocation.placed, now, None, kind)
            self._report(invocation, outcome, status)

    def _report(self, invocation: Invocation, outcome: Outcome, status: str) -> None:
        first = self.invocations == 1 and self.phase == "init"
        init = self.init_ms if first and self.kind == "on-demand" else None
        start = Start(self.started, self._born, init, self.restore_ms if first else None)
        report = make_report(invocation, outcome, start, self.name, self._settings.memory_mb, status)
        self.last_used = time.monotonic()
        self._owner.answered(self, invocation, Answered(outcome, report))

    # freezing

    def _freeze(self) -> None:
        if self.state == "idle" and not self.busy:
            self._process.signal(signal.SIGSTOP)
            self.state = "frozen"

    def _thaw(self) -> None:
        self._alarms.stop("freeze")
        if self.state == "frozen":
            self._process.signal(signal.SIGCONT)
            self.state = "idle"
