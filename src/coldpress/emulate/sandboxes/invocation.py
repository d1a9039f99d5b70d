"""What passes between those who call a function and the sandbox that answers."""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from coldpress.emulate.sandboxes.streams import Piece, Streamed

if TYPE_CHECKING:
    from coldpress.emulate.wire import Connection

#: what an invocation may bring, and what may come back in one piece
LARGEST_EVENT = 6 * 1024 * 1024
LARGEST_ANSWER = LARGEST_EVENT + 100
REGION = "us-east-1"
ACCOUNT = "012345678912"


@dataclass
class Invocation:
    """An event on its way to a sandbox. Times are time.monotonic()."""

    event: bytes
    request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
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


@dataclass(frozen=True)
class Outcome:
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
    phases: list[dict[str, Any]] = field(default_factory=list)
    #: the last of what was logged meanwhile, for LogType=Tail
    tail: bytes = b""


@dataclass(frozen=True)
class Answered:
    """The end of an invocation, as its caller gets it."""

    outcome: Outcome
    report: Report
