"""Answers sent piece by piece while they are made, for functions that are invoked so (COLDPRESS_STREAM=on).

A generator's pieces are JSON values: a line each in a direct invocation, a server-sent event each over HTTP. Other
answers go out as one piece. Over HTTP the stream begins with the status and the headers, as Lambda wants it.
"""

from coldpress_runtime import http, log
from coldpress_runtime.events import batch_source, http_source, load_balancer
from coldpress_runtime.faults import BadRequest
from coldpress_runtime.jsontext import dumps, loads
from coldpress_runtime.runtime_api import FAILED, kind_of
from coldpress_runtime.tasks.custom import written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from coldpress_runtime.events import HttpSource
    from coldpress_runtime.function import Function
    from coldpress_runtime.runtime_api import Invocation, RuntimeApi

    #: how an answer is called, and its bytes, one piece after the other
    Answer = tuple[str, Iterator[bytes]]

_JSON, _LINES, _EVENTS = "application/json", "application/x-ndjson", "text/event-stream"
_HTTP = "application/vnd.awslambda.http-integration-response"
#: between the status with its headers and the body
_PRELUDE_END = b"\0" * 8


def serve(api: "RuntimeApi", function: "Function", invocation: "Invocation") -> None:
    request_id = invocation.request_id
    try:
        kind, pieces = _answer(function, invocation.take())
    except Exception as trouble:
        log.error("a request failed", request_id, trouble)
        api.fail(request_id, kind_of(trouble), str(trouble))
        return
    api.stream(request_id, kind, _logged(pieces, request_id))


def _logged(pieces: "Iterator[bytes]", request_id: str) -> "Iterator[bytes]":
    try:
        yield from pieces
    except Exception as trouble:
        log.error("a stream ended early", request_id, trouble)
        raise


def _answer(function: "Function", data: bytes) -> "Answer":
    try:
        event = loads(data)
    except BadRequest as error:
        return _JSON, iter((http.error_body(error).encode(),))
    if isinstance(event, dict) and batch_source(event) is not None:
        return _JSON, iter((function.handle(event).encode(),))
    source = http_source(event)
    task: Any = function.task()
    task.streams = source is not load_balancer  # which takes whole answers only
    if source is None or source is load_balancer:
        return _direct(function, task, event)
    assert isinstance(event, dict)
    return _HTTP, _over_http(function, task, source, event)


def _direct(function: "Function", task: "Any", event: object) -> "Answer":
    text = function.handle(event)
    pieces = _left(task)
    if pieces is None:
        return _JSON, iter((text.encode(),))
    try:
        return _LINES, _begun(pieces, _line)
    except BadRequest as error:
        return _JSON, iter((http.error_body(error).encode(),))


def _over_http(
    function: "Function", task: "Any", source: "HttpSource", event: "dict[str, object]"
) -> "Iterator[bytes]":
    begun: Iterator[bytes] | None = None
    try:
        reply = http.answer(function, source.decode(event), source.LIMIT)
        pieces = _left(task)
        if pieces is not None:
            begun = _told(_begun(pieces, _event))
            reply = http.Reply(200, "", {"content-type": _EVENTS, "cache-control": "no-cache"})
    except BadRequest as error:
        reply = http.Reply(error.status, http.error_body(error), error.headers)
    prelude = dumps({"statusCode": reply.status, "headers": reply.headers}).encode()
    return _chain(prelude + _PRELUDE_END, begun or iter((reply.body.encode(),)))


def _left(task: "Any") -> "Iterator[object] | None":
    """What the task left to be streamed, if it did."""
    pieces: Iterator[object] | None = getattr(task, "pieces", None)
    task.pieces = None
    return pieces


def _begun(pieces: "Iterator[object]", form: "Callable[[object], bytes]") -> "Iterator[bytes]":
    """The pieces in their form, the first one made: what fails until then can be told as any other error."""
    formed = map(form, pieces)
    for first in formed:
        return _chain(first, formed)
    return iter(())


def _chain(first: bytes, rest: "Iterator[bytes]") -> "Iterator[bytes]":
    yield first
    yield from rest


def _told(events: "Iterator[bytes]") -> "Iterator[bytes]":
    """Events, and if they end early, one that says so: callers over HTTP see no trailers."""
    try:
        yield from events
    except Exception as trouble:
        bad = trouble if isinstance(trouble, BadRequest) else BadRequest(500, "function_failed", FAILED)
        yield f"event: error\ndata: {http.error_body(bad)}\n\n".encode()
        raise


def _line(piece: object) -> bytes:
    return f"{written(piece)}\n".encode()


def _event(piece: object) -> bytes:
    return f"data: {written(piece)}\n\n".encode()
