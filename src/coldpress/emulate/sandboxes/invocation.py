"""What passes between those who call a function and the sandbox that answers."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from coldpress.emulate.sandboxes.streams import Piece, Streamed

if TYPE_CHECKING:
    from coldpress.emulate.wire import Connection

#: what an invocation may bring, and what may come back in one piece
LARGEST_EVENT = 6 * 1024 * 1024
LARGEST_ANSWER = LARGEST_EVENT + 100
REGION = "us-east-1"
ACCOUNT = "012345678912"


def new_request_id() -> str:
    """A UUID of version 4. It names and does not guard: no need to ask the kernel for each."""
    bits = random.getrandbits
    return f"{bits(32):08x}-{bits(16):04x}-4{bits(12):03x}-{0x8000 | bits(14):04x}-{bits(48):012x}"


@dataclass
class Invocation:
    """An event on its way to a sandbox. Times are time.monotonic()."""

    event: bytes
    request_id: str = field(default_factory=new_request_id)
    #: invoke, stream, event, url: how it came
    kind: str = "invoke"
    arn: str = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:function"
    client_context: str = ""
    #: whether its caller waits for its log as well
    wants_tail: bool = False
    trace_id: str = ""
    #: told of the pieces of a stream as they come; without it an answer is collected
    heard: Callable[[Piece], None] | None = None
    #: the connection that they come by
    source: "Connection | None" = None
    #: told of the status and headers that come before the pieces
    began: Callable[[Streamed], None] | None = None
    #: when it came, when a sandbox was found, when the sandbox took it, when the answer was complete
    arrived: float = field(default_factory=time.monotonic)
    placed: float = 0.0
    taken: float = 0.0
    deadline_ms: int = 0


class Outcome(NamedTuple):
    """How an invocation ended: an answer, or an error: the function's own, or its sandbox's."""

    ok: bool
    body: bytes
    #: time.monotonic() when the sandbox took the invocation, and when its answer was complete
    taken: float
    done: float
    streamed: Streamed | None = None
    #: as Lambda names it: Runtime.ExitError, Sandbox.Timedout, or what the function said
    error_type: str = ""


@dataclass
class Report:
    """What Lambda's REPORT line says of an invocation, and where its time went."""

    request_id: str
    duration_ms: float
    billed_ms: int
    memory_mb: int
    peak_mb: float = 0.0
    init_ms: float | None = None
    #: with SnapStart, instead of the init
    restore_ms: float | None = None
    error_type: str = ""
    #: as Lambda names it: success, error, timeout
    status: str = "success"
    sandbox: str = ""
    #: what it did from when on, the last being the end; times are time.monotonic()
    marks: tuple[tuple[str, float], ...] = ()
    #: the last of what was logged meanwhile, for LogType=Tail
    tail: bytes = b""

    @property
    def is_cold(self) -> bool:
        """Whether a sandbox was started, or restored, for it."""
        return self.init_ms is not None or self.restore_ms is not None


class Answered(NamedTuple):
    """The end of an invocation, as its caller gets it."""

    outcome: Outcome
    report: Report
