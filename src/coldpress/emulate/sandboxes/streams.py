"""An answer that comes piece by piece, as Lambda's Runtime API takes it: chunks, a prelude, trailers."""

import json
import time
from base64 import b64decode
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coldpress.emulate.sandboxes.invocation import Invocation
    from coldpress.emulate.wire import Request

#: the header that says that an answer is streamed
MODE = "lambda-runtime-function-response-mode"
_MODE = MODE.encode()
_ERROR_BODY = b"lambda-runtime-function-error-body"
_ERROR_TYPE = b"lambda-runtime-function-error-type"
_HTTP = b"application/vnd.awslambda.http-integration-response"
_PRELUDE_END = b"\0" * 8

Headers = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Piece:
    #: time.monotonic() when it was here
    at: float
    data: bytes


class Streamed:
    """What came of a stream: its pieces, the status and headers before them over HTTP, the error that ended it."""

    def __init__(
        self,
        has_prelude: bool,
        heard: Callable[[Piece], None] | None,
        began: "Callable[[Streamed], None] | None" = None,
    ) -> None:
        self.pieces: list[Piece] = []
        self.prelude: dict[str, Any] | None = None
        self.error: dict[str, Any] | None = None
        self._awaits_prelude = has_prelude
        self._heard = heard
        self._began = began
        self._has_begun = False
        self._unread = b""

    @property
    def body(self) -> bytes:
        return b"".join(piece.data for piece in self.pieces)

    def take(self, data: bytes, whole: bool) -> None:
        """Take in a part of a chunk; `whole` once the chunk ends with it."""
        self._unread += data
        if not whole:
            return
        if self._awaits_prelude:
            prelude, end, rest = self._unread.partition(_PRELUDE_END)
            if not end:
                return
            self.prelude = _object(prelude) or {"statusCode": 502}
            self._unread, self._awaits_prelude = rest, False
        if not self._has_begun:
            self._has_begun = True
            if self._began is not None:
                self._began(self)
        if self._unread:
            piece, self._unread = Piece(time.monotonic(), self._unread), b""
            if self._began is None:  # else it is passed on, and may be larger than memory
                self.pieces.append(piece)
            if self._heard is not None:
                self._heard(piece)

    def end(self, trailers: Headers) -> None:
        found = dict(trailers)
        if _ERROR_TYPE in found:
            unknown = {"errorType": found[_ERROR_TYPE].decode("latin-1"), "errorMessage": ""}
            self.error = _decoded(found.get(_ERROR_BODY, b"")) or unknown


def _object(text: bytes) -> dict[str, Any] | None:
    """A JSON object, if it is one: what comes here was made by others."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _decoded(text: bytes) -> dict[str, Any] | None:
    try:
        return _object(b64decode(text))
    except ValueError:
        return None


class Sink:
    """Hands the pieces of a streamed answer on: a wire.Request's sink."""

    def __init__(self, streamed: Streamed) -> None:
        self.streamed = streamed

    def __call__(self, data: bytes, whole: bool) -> None:
        self.streamed.take(data, whole)


def sink_for(request: "Request", running: "list[Invocation]") -> Sink | None:
    """What takes a request's body, if it streams an answer: to who waits for it, if anybody still does."""
    headers = ((name.encode(), value.encode("latin-1")) for name, value in request.headers.items())
    request_id = request.path.rpartition("/invocation/")[2].partition("/")[0]
    invocation = next((one for one in running if one.request_id == request_id), None)
    heard, began = (invocation.heard, invocation.began) if invocation else (None, None)
    if invocation is not None:
        invocation.source = request.connection
    streamed = stream_of(headers, heard, began)
    return None if streamed is None else Sink(streamed)


def stream_of(
    headers: Headers,
    heard: Callable[[Piece], None] | None,
    began: Callable[[Streamed], None] | None = None,
) -> Streamed | None:
    """What a request with these headers streams into, if it is a stream."""
    found = dict(headers)
    if found.get(_MODE, b"").lower() != b"streaming":
        return None
    return Streamed(found.get(b"content-type", b"").startswith(_HTTP), heard, began)
