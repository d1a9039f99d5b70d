"""The Runtime API's rules, without a socket: who may say what, when.

As the official emulator has them, word for word where a client could depend on it. A request comes in with a
`reply` to call; /next is answered when there is work.
"""

import json
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from coldpress.emulate.sandboxes.invocation import LARGEST_ANSWER, Invocation, Outcome
from coldpress.emulate.sandboxes.streams import Streamed

PREFIX = "/2018-06-01/runtime"
_INVOCATION = f"{PREFIX}/invocation/"
_OK = b'{"status":"OK"}\n'

Headers = dict[str, str]
Reply = Callable[[int, Headers, bytes], None]


class Told(NamedTuple):
    """One request of the runtime; header names in lower case."""

    method: str
    path: str
    headers: Headers
    body: bytes = b""
    streamed: Streamed | None = None


#: a method, and who answers it
Route = tuple[str, Callable[[Told, Reply], None] | None]


class Listener(Protocol):
    """Who is told what the runtime did."""

    def ready(self) -> None: ...
    def restorable(self) -> None: ...
    def init_failed(self, error_type: str, body: bytes) -> None: ...
    def taken(self, invocation: Invocation) -> None: ...
    def finished(self, invocation: Invocation, outcome: Outcome) -> None: ...
    def waiting(self) -> None: ...


class Rules:
    """One runtime's conversation. `at_once` of its invocations may be under way: one, but on Managed Instances."""

    def __init__(self, listener: Listener, at_once: int = 1, restores: bool = False) -> None:
        self._listener = listener
        self._at_once = at_once
        self._routes: dict[str, Route] = {
            f"{_INVOCATION}next": ("GET", self._next),
            f"{PREFIX}/init/error": ("POST", self._init_error),
        }
        if restores:
            self._routes[f"{PREFIX}/restore/next"] = ("GET", self._restore_next)
            self._routes[f"{PREFIX}/restore/error"] = ("POST", self._init_error)
        self._state = "Started"
        self._asking: deque[Reply] = deque()
        self._queued: deque[Invocation] = deque()
        self._running: dict[str, Invocation] = {}
        self._answered: set[str] = set()
        self._restoring: Reply | None = None
        self._ready = False

    @property
    def is_ready(self) -> bool:
        return self._ready

    @property
    def asking(self) -> bool:
        return bool(self._asking)

    @property
    def running(self) -> list[Invocation]:
        """What the runtime took and has not answered."""
        return [*self._running.values()]

    @property
    def queued(self) -> list[Invocation]:
        """What was given to it and not taken."""
        return [*self._queued]

    @property
    def room(self) -> int:
        return self._at_once - len(self._running) - len(self._queued)

    def give(self, invocation: Invocation) -> None:
        """Hand an invocation to the runtime, now or when it asks."""
        self._queued.append(invocation)
        if self._asking:
            self._hand_over(self._asking.popleft())

    def withdraw(self, invocation: Invocation) -> bool:
        """Take an invocation back that the runtime has not asked for yet."""
        if invocation not in self._queued:
            return False
        self._queued.remove(invocation)
        return True

    def close(self) -> None:
        """Send home who waits for work."""
        while self._asking:
            refuse(self._asking.popleft(), 410, "Gone", "the sandbox is shutting down")

    def restore(self) -> None:
        """Let a snapshot that waits in /restore/next go on."""
        if self._restoring is not None:
            reply, self._restoring = self._restoring, None
            reply(200, {}, b"")

    def heard(self, told: Told, reply: Reply) -> None:
        """Take a request of the runtime."""
        method, answer = self._routes.get(told.path) or self._of_one(told.path)
        if answer is None:
            not_found(reply)
        elif told.method != method:
            reply(405, {"Allow": method}, b"")
        else:
            answer(told, reply)

    def _of_one(self, path: str) -> Route:
        """How one invocation ended."""
        request_id, _, what = path.removeprefix(_INVOCATION).partition("/")
        if what == "response" and path.startswith(_INVOCATION):
            return "POST", partial(self._finish, request_id, True)
        if what == "error" and path.startswith(_INVOCATION):
            return "POST", partial(self._finish, request_id, False)
        return "", None

    def _next(self, told: Told, reply: Reply) -> None:
        if not self._ready:
            self._ready = True
            self._listener.ready()
        if self._at_once == 1 and self._running:  # asked again while at work: the same work
            self._send(next(iter(self._running.values())), reply)
            return
        self._state = "Ready"
        if self._at_once == 1:  # who asks again has given up the question before
            self._asking.clear()
        self._asking.append(reply)
        if self._queued:
            self._hand_over(self._asking.popleft())
        else:
            self._listener.waiting()

    def _hand_over(self, reply: Reply) -> None:
        invocation = self._queued.popleft()
        self._running[invocation.request_id] = invocation
        self._state = "Running"
        invocation.taken = time.monotonic()
        self._listener.taken(invocation)
        self._send(invocation, reply)

    def _send(self, invocation: Invocation, reply: Reply) -> None:
        headers = {
            "Content-Type": "application/json",
            "Lambda-Runtime-Aws-Request-Id": invocation.request_id,
            "Lambda-Runtime-Deadline-Ms": str(invocation.deadline_ms),
            "Lambda-Runtime-Invoked-Function-Arn": invocation.arn,
            "Lambda-Runtime-Trace-Id": invocation.trace_id,
        }
        if invocation.client_context:
            headers["Lambda-Runtime-Client-Context"] = invocation.client_context
        reply(200, headers, invocation.event)

    def _finish(self, request_id: str, ok: bool, told: Told, reply: Reply) -> None:
        invocation = self._running.get(request_id)
        if invocation is None:
            if request_id in self._answered and not self._running:
                self._refuse("InvocationResponse" if ok else "InvocationErrorResponse", reply)
            else:
                refuse(reply, 400, "InvalidRequestID", "Invalid request ID")
            return
        body, streamed = told.body, told.streamed
        error_type = "" if ok else _type_of(told)
        status: tuple[int, bytes] = (202, _OK)
        if streamed is None and ok and len(body) > LARGEST_ANSWER:
            limit = f"maximum allowed payload size ({LARGEST_ANSWER} bytes)."
            status = (413, _error("RequestEntityTooLarge", f"Exceeded {limit}") + b"\n")
            ok, error_type = False, "Function.ResponseSizeTooLarge"
            body = _error(error_type, f"Response payload size exceeded {limit}")
        elif streamed is not None and streamed.error is not None:
            ok, error_type = False, str(streamed.error.get("errorType", "Runtime.UnknownReason"))
        del self._running[request_id]
        self._answered = {request_id}
        self._state = "RuntimeResponseSentState"
        self._listener.finished(
            invocation, Outcome(ok, body, invocation.taken, time.monotonic(), streamed, error_type)
        )
        reply(status[0], {"Content-Type": "application/json"}, status[1])

    def _init_error(self, told: Told, reply: Reply) -> None:
        if self._ready:
            self._refuse("InitError", reply)
            return
        reply(202, {"Content-Type": "application/json"}, _OK)
        self._listener.init_failed(_type_of(told), told.body)

    def _restore_next(self, told: Told, reply: Reply) -> None:
        self._restoring = reply
        self._listener.restorable()

    def _refuse(self, wanted: str, reply: Reply) -> None:
        why = f"State transition from {self._state} to {wanted} failed for runtime."
        why += " Error: State transition is not allowed"
        refuse(reply, 403, "InvalidStateTransition", why)


def _type_of(told: Told) -> str:
    """What kind of error it is, by its header or by itself."""
    named = told.headers.get("lambda-runtime-function-error-type")
    if named:
        return named
    try:
        said = json.loads(told.body).get("errorType")
    except (ValueError, AttributeError, RecursionError):
        said = None
    return said if isinstance(said, str) and said else "Runtime.UnknownReason"


def refuse(reply: Reply, status: int, kind: str, message: str) -> None:
    body = f'{{"errorMessage":{json.dumps(message)},"errorType":"{kind}"}}\n'
    reply(status, {"Content-Type": "application/json"}, body.encode())


def not_found(reply: Reply) -> None:
    reply(404, {"Content-Type": "text/plain; charset=utf-8"}, b"404 page not found\n")


def _error(kind: str, message: str) -> bytes:
    return json.dumps({"errorType": kind, "errorMessage": message}, separators=(",", ":")).encode()
