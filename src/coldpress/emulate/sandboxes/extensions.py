"""The Extensions API: programs beside the function that are told of each invocation and of the end."""

import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from coldpress.emulate.sandboxes.invocation import ACCOUNT, Invocation
from coldpress.emulate.sandboxes.rules import Reply, Told, not_found, refuse

PREFIX = "/2020-01-01/extension"
_EVENTS = {"INVOKE", "SHUTDOWN"}
_ID = "lambda-extension-identifier"


@dataclass
class _Extension:
    name: str
    events: set[str]
    #: asks for the next event
    waiting: Reply | None = None
    #: has asked at least once: its own init is over
    ready: bool = False
    undelivered: list[dict[str, object]] = field(default_factory=list)


class Extensions:
    """Of one sandbox. `expected` are programs that were started; others register from inside the runtime."""

    def __init__(self, expected: frozenset[str], function: str, changed: Callable[[], None]) -> None:
        self._expected = expected
        self._function = function
        self._changed = changed
        self._all: dict[str, _Extension] = {}

    @property
    def ready(self) -> bool:
        """All are there, and ask for events."""
        missing = self._expected - {one.name for one in self._all.values()}
        return not missing and all(one.ready for one in self._all.values())

    @property
    def idle(self) -> bool:
        """None is still busy with an invocation."""
        return all(one.waiting is not None or "INVOKE" not in one.events for one in self._all.values())

    @property
    def want_shutdown(self) -> bool:
        return bool(self._all)

    def invoke(self, invocation: Invocation) -> None:
        event = {
            "eventType": "INVOKE",
            "deadlineMs": invocation.deadline_ms,
            "requestId": invocation.request_id,
            "invokedFunctionArn": invocation.arn,
            "tracing": {"type": "X-Amzn-Trace-Id", "value": invocation.trace_id},
        }
        self._tell("INVOKE", event)

    def shut_down(self, reason: str, seconds: float) -> None:
        deadline = int((time.time() + seconds) * 1000)
        self._tell("SHUTDOWN", {"eventType": "SHUTDOWN", "shutdownReason": reason, "deadlineMs": deadline})

    def heard(self, told: Told, reply: Reply) -> None:
        if told.path == f"{PREFIX}/register" and told.method == "POST":
            self._register(told, reply)
            return
        extension = self._all.get(told.headers.get(_ID, ""))
        if told.path == f"{PREFIX}/event/next" and told.method == "GET":
            self._next(extension, reply)
        elif told.path in (f"{PREFIX}/init/error", f"{PREFIX}/exit/error") and told.method == "POST":
            if extension is None:
                _unknown(reply)
            else:
                reply(202, {"Content-Type": "application/json"}, b'{"status":"OK"}\n')
        else:
            not_found(reply)

    def _register(self, told: Told, reply: Reply) -> None:
        name = told.headers.get("lambda-extension-name", "")
        try:
            events = json.loads(told.body or b"{}").get("events", [])
            wanted = {str(one) for one in events}
        except (ValueError, AttributeError, TypeError):
            refuse(reply, 400, "InvalidRequestFormat", 'the body is not {"events": [...]}')
            return
        if not name:
            refuse(reply, 403, "Extension.InvalidExtensionName", "Empty extension name")
        elif any(one.name == name for one in self._all.values()):
            refuse(reply, 403, "Extension.AlreadyRegistered", f"extension {name} has registered already")
        elif not wanted <= _EVENTS:
            refuse(reply, 403, "Extension.InvalidEventType", f"{', '.join(wanted - _EVENTS)}: invalid event type")
        else:
            identifier = str(uuid.uuid4())
            self._all[identifier] = _Extension(name, wanted)
            body = {
                "functionName": self._function,
                "functionVersion": "$LATEST",
                "handler": "handler.lambda_handler",
                "accountId": ACCOUNT,
            }
            headers = {"Content-Type": "application/json", "Lambda-Extension-Identifier": identifier}
            reply(200, headers, json.dumps(body).encode())

    def _next(self, extension: _Extension | None, reply: Reply) -> None:
        if extension is None:
            _unknown(reply)
            return
        extension.ready = True
        if extension.undelivered:
            _send(reply, extension.undelivered.pop(0))
            return
        extension.waiting = reply
        self._changed()

    def _tell(self, kind: str, event: dict[str, object]) -> None:
        for extension in self._all.values():
            if kind not in extension.events:
                continue
            if extension.waiting is None:
                extension.undelivered.append(event)
            else:
                reply, extension.waiting = extension.waiting, None
                _send(reply, event)


def _send(reply: Reply, event: dict[str, object]) -> None:
    reply(200, {"Content-Type": "application/json"}, json.dumps(event).encode())


def _unknown(reply: Reply) -> None:
    refuse(reply, 403, "Extension.UnknownExtensionIdentifier", "Unknown extension")
