"""An answer that comes piece by piece, as Lambda's Runtime API takes it: chunks, a prelude, trailers."""

import json
import time
from base64 import b64decode
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

_MODE = b"lambda-runtime-function-response-mode"
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

    def __init__(self, has_prelude: bool, heard: Callable[[Piece], None] | None) -> None:
        self.pieces: list[Piece] = []
        self.prelude: dict[str, Any] | None = None
        self.error: dict[str, Any] | None = None
        self._awaits_prelude = has_prelude
        self._heard = heard
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
            self.prelude, self._unread, self._awaits_prelude = json.loads(prelude), rest, False
        if self._unread:
            piece, self._unread = Piece(time.monotonic(), self._unread), b""
            self.pieces.append(piece)
            if self._heard is not None:
                self._heard(piece)

    def end(self, trailers: Headers) -> None:
        found = dict(trailers)
        if _ERROR_TYPE in found:
            self.error = json.loads(b64decode(found.get(_ERROR_BODY, b"e30=")))


def stream_of(headers: Headers, heard: Callable[[Piece], None] | None) -> Streamed | None:
    """What a request with these headers streams into, if it is a stream."""
    found = dict(headers)
    if found.get(_MODE, b"").lower() != b"streaming":
        return None
    return Streamed(found.get(b"content-type", b"").startswith(_HTTP), heard)
