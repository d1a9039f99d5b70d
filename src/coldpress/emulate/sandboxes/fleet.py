"""A function's sandboxes: started when they are needed, used again while they are warm, taken down when they idle.

An invocation goes to the sandbox that was used last; without one a new one is started for it, up to the limit;
beyond it is throttled. Nothing queues, as on Lambda.
"""

import asyncio
import time
from collections.abc import Callable
from json import loads

from coldpress.emulate.sandboxes.errors import ending, error_body, timed_out
from coldpress.emulate.sandboxes.invocation import Answered, Invocation, Outcome, Report
from coldpress.emulate.sandboxes.ledger import Ledger
from coldpress.emulate.sandboxes.live import LiveSandbox
from coldpress.emulate.sandboxes.logbook import Logbook
from coldpress.emulate.sandboxes.settings import Settings
from coldpress.emulate.world.namespaces import Starter

_SCALE_UP_SECONDS = 10.0
#: what a sandbox that is told to end may still do
_LAST_WORDS = 2.5


class Throttled(Exception):
    """No sandbox may be started for an invocation; `reason` is what Lambda calls it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


Done = Callable[[Answered | Throttled], None]


class Fleet:
    def __init__(self, settings: Settings, starter: Starter) -> None:
        self.settings = settings
        self.starter = starter
        self.log = Logbook(settings.json_log)
        self.ledger = Ledger(settings.arch)
        self.sandboxes: dict[str, LiveSandbox] = {}
        #: free ones, the one used last at the end
        self._free: list[LiveSandbox] = []
        #: what waits for a sandbox to start
        self._bound: dict[str, list[Invocation]] = {}
        #: who waits for what is under way
        self._waiting: dict[str, Done] = {}
        self._started: list[float] = []
        self._number = 0
        self._draining = False
        self._hurried = False
        self._provisioned_ready = asyncio.Event()
        self._given_up = 0
        self._reaper: asyncio.Task[None] | None = None

    # from outside

    async def start(self) -> None:
        """Start what is provisioned, and wait for it."""
        self._reaper = asyncio.get_running_loop().create_task(self._reap())
        for _ in range(self.settings.provisioned):
            self._launch("provisioned-concurrency")
        if self.settings.provisioned:
            await self._provisioned_ready.wait()

    def submit(self, invocation: Invocation, done: Done) -> None:
        """Place an invocation. `done` is called once, with its answer or with why there is no room for it."""
        try:
            if self._draining:
                raise Throttled("the emulator is shutting down")
            sandbox = self._warmest() or self._starting() or self._for(invocation)
        except Throttled as throttled:
            done(throttled)
            return
        except OSError as error:  # no descriptors, no space, no group: this machine is full
            self.log.add("", f"a sandbox could not be started: {error}")
            done(Throttled(f"a sandbox could not be started: {error}"))
            return
        self._waiting[invocation.request_id] = done
        if sandbox.init_ms is None:
            self._bound.setdefault(sandbox.name, []).append(invocation)
        else:
            sandbox.invoke(invocation)

    async def drain(self, patience: float) -> None:
        """Take nothing more, let what is under way end, then end the sandboxes."""
        self._draining = True
        if self._reaper is not None:
            self._reaper.cancel()
        await self._until(lambda: not self._waiting, patience)
        for sandbox in [*self.sandboxes.values()]:
            sandbox.shut_down("spindown")
        await self._until(lambda: not self.sandboxes, _LAST_WORDS)
        for sandbox in [*self.sandboxes.values()]:
            sandbox.kill()
        self._hurried = False
        await self._until(lambda: not self.sandboxes, 5)
        self.log.flush()
        self.starter.close()

    def hurry(self) -> None:
        """Do not wait for anybody any more."""
        self._hurried = True

    async def _until(self, done: Callable[[], bool], seconds: float) -> None:
        end = time.monotonic() + seconds
        while not done() and not self._hurried and time.monotonic() < end:
            await asyncio.sleep(0.01)

    # placing

    def _warmest(self) -> LiveSandbox | None:
        """Provisioned ones first: they are paid for anyway. One whose time is over is left to the reaper."""
        free = self._free
        limit = time.monotonic() - self.settings.idle
        while free and ((room := free[-1].room) <= 0 or _over(free[-1], limit)):
            free.pop()
        if not free:
            return None
        at = len(free) - 1
        if self.settings.provisioned and free[at].kind != "provisioned-concurrency":
            ahead = (n for n in range(at, -1, -1) if free[n].kind == "provisioned-concurrency")
            at = next((n for n in ahead if free[n].room > 0), at)
            room = free[at].room
        return free.pop(at) if room == 1 else free[at]

    def _starting(self) -> LiveSandbox | None:
        """Where sandboxes take several at once: one that is on its way and has room for another."""
        for name, waiting in self._bound.items():
            if len(waiting) < self.settings.at_once:
                return self.sandboxes[name]
        return None

    def _for(self, invocation: Invocation) -> LiveSandbox:
        # What counts is what is under way, as on Lambda: a sandbox that still tidies up after its answer does not.
        most = max(self.settings.concurrency, self.settings.provisioned)
        alive = sum(sandbox.state != "ended" for sandbox in self.sandboxes.values())
        if (len(self._waiting) if self.settings.at_once == 1 else alive) >= most:
            self.ledger.throttled(invocation)
            raise Throttled("ReservedFunctionConcurrentInvocationLimitExceeded")
        now = time.monotonic()
        self._started = [at for at in self._started if now - at < _SCALE_UP_SECONDS]
        if len(self._started) >= self.settings.scale_up:
            self.ledger.throttled(invocation)
            raise Throttled("CallerRateLimitExceeded")
        self._started.append(now)
        return self._launch("snap-start" if self.settings.snap_start else "on-demand")

    def _launch(self, kind: str, phase: str = "init") -> LiveSandbox:
        settings = self.settings
        self._number += 1
        name = f"{self._number:04x}"
        spawned = self.starter.spawn(name, settings.environment(name, kind))
        extensions = self.starter.extensions
        sandbox = LiveSandbox(name, spawned, self, settings, kind=kind, phase=phase, extensions=extensions)
        self.sandboxes[name] = sandbox
        if phase == "init":
            self._write(sandbox, self.log.init_start(kind))
        return sandbox

    async def _reap(self) -> None:
        """Take down what has been idle for too long."""
        while True:
            await asyncio.sleep(min(1.0, self.settings.idle / 4))
            limit = time.monotonic() - self.settings.idle
            for sandbox in [*self.sandboxes.values()]:
                if sandbox.busy or sandbox.state in ("starting", "ended") or not _over(sandbox, limit):
                    continue
                if sandbox in self._free:
                    self._free.remove(sandbox)
                sandbox.shut_down("spindown")

    # what sandboxes tell: live.Owner

    def ready(self, sandbox: LiveSandbox) -> None:
        if sandbox.kind == "provisioned-concurrency":
            self._count_provisioned()
        for invocation in self._bound.pop(sandbox.name, []):
            sandbox.invoke(invocation)
        if sandbox.room > 0:
            self.free(sandbox)

    def restoring(self, sandbox: LiveSandbox) -> None:
        self._write(sandbox, self.log.restore_start())

    def free(self, sandbox: LiveSandbox) -> None:
        if sandbox not in self._free:
            self._free.append(sandbox)

    def returned(self, invocation: Invocation) -> None:
        """A sandbox ended, or does other things, before it took an invocation: another one takes it."""
        done = self._waiting.pop(invocation.request_id, None)
        if done is not None:
            self.submit(invocation, done)

    def began(self, sandbox: LiveSandbox, invocation: Invocation) -> None:
        self._write(sandbox, self.log.start(invocation.request_id))

    def answered(self, sandbox: LiveSandbox, invocation: Invocation, answered: Answered) -> None:
        early = invocation.wants_tail or not answered.outcome.ok
        if early:
            self._note(sandbox, invocation, answered)
        done = self._waiting.pop(invocation.request_id, None)
        if done is not None:
            done(answered)
        if not early:  # once the answer is on its way
            asyncio.get_running_loop().call_soon(self._note, sandbox, invocation, answered)

    def _note(self, sandbox: LiveSandbox, invocation: Invocation, answered: Answered) -> None:
        """Write down how an invocation ended."""
        report = answered.report
        report.peak_mb = sandbox.peak_mb()
        for line in self.log.end(report):
            self._write(sandbox, line)
        report.tail = sandbox.tail
        self.ledger.answered(invocation, answered)

    def init_failed(self, sandbox: LiveSandbox, error_type: str, body: bytes) -> None:
        """A failed init is tried again inside the invocation that waits, as Lambda does; then it is its answer."""
        assert sandbox.init_ms is not None
        self._write(sandbox, self.log.init_failed(sandbox.init_ms, sandbox.phase, error_type))
        waiting = self._bound.pop(sandbox.name, [])
        if sandbox.kind == "provisioned-concurrency":
            self._given_up += 1
            self._count_provisioned()
        sandbox.kill()
        if waiting and sandbox.phase == "init" and not self._draining:
            try:
                again = self._launch(sandbox.kind, "invoke")
            except OSError as error:
                error_type = "Runtime.Unknown"
                body = error_body(error_type, f"a sandbox could not be started: {error}")
            else:
                again.tail = sandbox.tail
                self._bound[again.name] = waiting
                return
        for invocation in waiting:
            self._fail(sandbox, invocation, error_type, body)

    def ended(self, sandbox: LiveSandbox) -> None:
        self.sandboxes.pop(sandbox.name, None)
        if sandbox in self._free:
            self._free.remove(sandbox)
        for lost in self._bound.pop(sandbox.name, []):
            kind = "Runtime.ExitError"
            self._fail(sandbox, lost, kind, error_body(kind, f"Error: {ending(0)}"))
        worked = sandbox.kind == "provisioned-concurrency" and sandbox.state == "ended" and sandbox.served
        if worked and not self._draining:
            try:
                self._launch("provisioned-concurrency")
            except OSError as error:
                self.log.add("", f"a sandbox could not be started: {error}")

    def wrote(self, sandbox: LiveSandbox, line: bytes) -> None:
        self._write(sandbox, line.decode(errors="replace"))

    def _write(self, sandbox: LiveSandbox, line: str) -> None:
        sandbox.keep(line.encode())
        self.log.add(sandbox.name, line)

    def _count_provisioned(self) -> None:
        ready = sum(
            sandbox.kind == "provisioned-concurrency" and sandbox.init_ms is not None
            for sandbox in self.sandboxes.values()
        )
        if ready + self._given_up >= self.settings.provisioned:
            self._provisioned_ready.set()

    def _fail(self, sandbox: LiveSandbox, invocation: Invocation, error_type: str, body: bytes) -> None:
        """Answer for a sandbox that never became one."""
        now = time.monotonic()
        if error_type == "timeout":
            error_type = "Sandbox.Timedout"
            body = error_body(error_type, timed_out(self.settings.timeout), invocation.request_id)
        outcome = Outcome(False, _with_id(body, invocation.request_id), sandbox.started, now, None, error_type)
        duration = (now - sandbox.started) * 1000
        self._write(sandbox, self.log.start(invocation.request_id))
        report = Report(
            request_id=invocation.request_id,
            duration_ms=duration,
            billed_ms=int(-(-duration // 1)),
            memory_mb=self.settings.memory_mb,
            error_type=error_type,
            status="timeout" if error_type == "Sandbox.Timedout" else "error",
            sandbox=sandbox.name,
        )
        self.answered(sandbox, invocation, Answered(outcome, report))


def _over(sandbox: LiveSandbox, limit: float) -> bool:
    """Idle for too long. What is provisioned never is."""
    return sandbox.kind != "provisioned-concurrency" and sandbox.last_used < limit


def _with_id(body: bytes, request_id: str) -> bytes:
    """An init's exit was told before there was a request: its message gets the request's name."""
    try:
        error = loads(body)
    except ValueError:
        return body
    message = error.get("errorMessage") if isinstance(error, dict) else None
    if isinstance(message, str) and message.startswith("Error: Runtime exited"):
        return error_body(str(error["errorType"]), message.removeprefix("Error: "), request_id)
    return body
