"""A sandbox: one process, one invocation at a time, in an environment like Lambda's."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty
from types import TracebackType
from typing import IO, TypeVar

from coldpress.emulate.runtime_api import InitFailed, Ready, RuntimeApi
from coldpress.emulate.sandboxes.invocation import Outcome
from coldpress.emulate.sandboxes.settings import INIT_TIMEOUT
from coldpress.emulate.sandboxes.streams import Piece, Streamed
from coldpress.errors import FunctionError, MissingPart
from coldpress.package.bytecode import interpreters

_POLL = 0.02

_Told = TypeVar("_Told", Ready, Outcome)


@dataclass(frozen=True)
class Invoked:
    """One answered invocation, with what Lambda's REPORT line would say of it."""

    ok: bool
    body: bytes
    duration_ms: float
    #: time.monotonic() when the answer was complete
    done: float
    #: only of the first invocation: process start until the function asked for work
    init_ms: float | None
    peak_mb: float
    #: of an answer that came piece by piece: the pieces, what stood before them, and the error that ended them
    streamed: Streamed | None = None


class Sandbox:
    """Runs the `bootstrap` in `root` with the `python` that it is for, or another `command` there.

    Starts when entered, is killed when left.
    """

    def __init__(
        self,
        root: Path,
        *,
        memory_mb: int = 1769,
        timeout: float = 30.0,
        init_timeout: float = INIT_TIMEOUT,
        env: dict[str, str] | None = None,
        command: list[str] | None = None,
        python: str = "any",
        cpus: set[int] | None = None,
    ) -> None:
        self._root = root.resolve()
        self._memory = memory_mb
        self._timeout = timeout
        self._init_timeout = init_timeout
        self._env = env or {}
        self._command = command or [str(self._root / "bootstrap"), interpreter_for(python)]
        self._cpus = cpus
        self._init_ms: float | None = None
        self._answered = False
        self.started = 0.0
        self._api: RuntimeApi
        self._process: subprocess.Popen[bytes]
        self._log: IO[bytes]

    def __enter__(self) -> "Sandbox":
        if not os.access(self._command[0], os.X_OK):
            raise FunctionError(f"{self._command[0]} is no executable file; build the artifact again")
        self._api = RuntimeApi()
        self._log = tempfile.TemporaryFile()
        with pinned(self._cpus):
            self.started = time.monotonic()
            self._process = subprocess.Popen(
                self._command,
                cwd=self._root,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                start_new_session=True,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._api.close()
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def log(self) -> str:
        """What the function wrote to its standard output and error so far."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def ready(self) -> None:
        """Wait until the function asks for work: its init is over."""
        if self._init_ms is None:
            self._init_ms = (self._wait(self._init_timeout, "init", Ready).at - self.started) * 1000

    def invoke(self, event: bytes, heard: Callable[[Piece], None] | None = None) -> Invoked:
        """Hand over one event and wait for its answer; an error that the function reports is an answer too.

        Pieces of a stream are told to `heard` as they come.
        """
        self._api.heard = heard
        first = not self._answered
        self._answered = True
        self.ready()
        self._api.give(str(uuid.uuid4()), event, self._timeout)
        outcome = self._wait(self._timeout, "the invocation", Outcome)
        return Invoked(
            ok=outcome.ok,
            body=outcome.body,
            duration_ms=(outcome.done - outcome.taken) * 1000,
            done=outcome.done,
            init_ms=self._init_ms if first else None,
            peak_mb=self.memory_mb("VmHWM"),
            streamed=outcome.streamed,
        )

    def _wait(self, seconds: float, what: str, kind: type[_Told]) -> _Told:
        deadline = time.monotonic() + seconds
        while True:
            try:
                told = self._api.told.get(timeout=_POLL)
            except Empty:
                told = None
            if isinstance(told, kind):
                return told
            if isinstance(told, InitFailed):
                raise FunctionError(f"the function could not be loaded: {told.body.decode(errors='replace')}")
            if told is None and self._process.poll() is not None:
                raise FunctionError(
                    f"the function's process ended with {_ending(self._process.returncode)} during {what}. "
                    f"Its log:\n{self.log().strip()[-2000:]}"
                )
            if time.monotonic() > deadline:
                raise FunctionError(f"{what} took longer than {seconds:g} s; allow more with --timeout")

    def memory_mb(self, field: str) -> float:
        """A size that Linux gives of the process: VmRSS now, VmHWM its highest, RssAnon, RssFile."""
        try:
            status = Path(f"/proc/{self.pid}/status").read_text()
        except OSError:
            return 0.0
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith(f"{field}:"))

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": "/usr/local/bin:/usr/bin/:/bin:/opt/bin",
            "LANG": "en_US.UTF-8",
            "TZ": ":UTC",
            "LAMBDA_TASK_ROOT": str(self._root),
            "LAMBDA_RUNTIME_DIR": "/var/runtime",
            "_HANDLER": "handler.lambda_handler",
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_LAMBDA_FUNCTION_NAME": "function",
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(self._memory),
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/function",
            "AWS_LAMBDA_LOG_STREAM_NAME": "local",
            "AWS_LAMBDA_RUNTIME_API": self._api.address,
            **self._env,
        }


def interpreter_for(version: str) -> str:
    """The Python that a function for `version`, or for any, is started with on this machine."""
    if version == "any":
        return base_python()
    found = interpreters()
    if version not in found:
        raise MissingPart(
            f"the function is for Python {version}, which is not on this machine: install it, "
            f"or build for one that is: {', '.join(found)}"
        )
    return found[version]


def base_python() -> str:
    """The interpreter itself: a virtual environment's costs a start some extra file reads."""
    return str(getattr(sys, "_base_executable", sys.executable))


@contextmanager
def pinned(cpus: set[int] | None) -> Iterator[None]:
    """What this thread starts inside the block runs on `cpus` only."""
    if cpus is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _ending(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
