"""HTTP/1.1 over asyncio: one kind of connection for all who listen here.

httptools reads; what is written is so little that a few lines do it. A request is served when it is whole, one
at a time on each connection; a stream's pieces are handed on as they come.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Protocol, cast

from coldpress.errors import MissingExtra

try:
    import httptools
except ImportError:
    raise MissingExtra("serve", "httptools", "serving a function on this machine") from None

_LINGER = 2.0
#: targets that may be worth remembering
_SHORT = 256
_REASONS = {status.value: status.phrase for status in HTTPStatus}


class Request:
    """A request; header names in lower case, the last of equal ones wins but for cookies, which are joined."""

    __slots__ = (
        "body",
        "connection",
        "headers",
        "keep_alive",
        "method",
        "path",
        "query",
        "sink",
        "target",
        "trailers",
    )

    def __init__(self, connection: "Connection") -> None:
        self.connection = connection
        self.method = ""
        self.target = b""
        self.path = ""
        self.query = ""
        self.headers: dict[str, str] = {}
        self.trailers: dict[str, str] = {}
        self.body = bytearray()
        self.keep_alive = True
        #: takes pieces of the body instead of it: called with data, and whether a chunk ended with it
        self.sink: Callable[[bytes, bool], None] | None = None


class Service(Protocol):
    """Who serves a connection's requests."""

    #: the most bytes that a body may have, unless it is streamed
    largest: int
    largest_head: int

    def joined(self, connection: "Connection") -> None:
        """Somebody is here."""

    def opened(self, request: Request) -> None:
        """The head is here."""

    def serve(self, request: Request) -> None:
        """All is here: answer by the request's connection, now or later."""

    def closed(self, connection: "Connection") -> None:
        """The other side is gone."""


class Connection(asyncio.Protocol):
    def __init__(self, service: Service) -> None:
        self._service = service
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport = cast(asyncio.Transport, None)
        self._coming: Request | None = None
        self._head = 0
        self._waiting: deque[Request] = deque()
        self._serving: Request | None = None
        self._slow = False
        self._feeding: Connection | None = None
        self._chunked = False
        self._over = False
        self.gone = False

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._service.joined(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone = True
        self.resume_writing()
        self._service.closed(self)

    def data_received(self, data: bytes) -> None:
        if self._over:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # to another protocol, which is not done: this request is the last
            if self._serving is not None:
                self._serving.keep_alive = False
            self._parser = httptools.HttpRequestParser(self)
        except _Refused as refused:
            self.refuse(refused.status, refused.message)
        except httptools.HttpParserError as error:
            cause = error.__context__
            if isinstance(cause, _Refused):
                self.refuse(cause.status, cause.message)
            else:
                self.refuse(400, f"this is not HTTP/1.1: {error}")

    def eof_received(self) -> bool:
        """Who says no more may still listen."""
        open_ = [*([self._serving] if self._serving else []), *self._waiting]
        if open_:
            open_[-1].keep_alive = False
        return bool(open_)

    def pause_writing(self) -> None:
        self._slow = True

    def resume_writing(self) -> None:
        self._slow = False
        if self._feeding is not None:
            self._feeding.resume_reading()
            self._feeding = None

    # httptools

    def on_message_begin(self) -> None:
        self._coming = Request(self)
        self._head = 0

    def on_url(self, url: bytes) -> None:
        assert self._coming is not None
        self._coming.target += url
        self._grow(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        assert self._coming is not None
        self._grow(len(name) + len(value))
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        fields = self._coming.headers if not self._coming.method else self._coming.trailers
        if key in fields and key in ("cookie", "accept", "x-forwarded-for"):
            text = f"{fields[key]}{'; ' if key == 'cookie' else ', '}{text}"
        fields[key] = text

    def on_headers_complete(self) -> None:
        request = self._coming
        assert request is not None
        request.method = self._parser.get_method().decode("latin-1")
        if request.method == "CONNECT":
            raise _Refused(405, "this is no proxy")
        target = request.target
        request.path, request.query = _known(target) if len(target) < _SHORT else _split(target)
        request.keep_alive = bool(self._parser.should_keep_alive())
        self._service.opened(request)
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length) > self._service.largest and request.sink is None:
            raise _Refused(413, f"the body has {length} bytes of {self._service.largest}")
        if request.headers.get("expect", "").lower() == "100-continue" and self._serving is None:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        request = self._coming
        assert request is not None
        if request.sink is not None:
            request.sink(body, False)
            return
        request.body += body
        if len(request.body) > self._service.largest:
            raise _Refused(413, f"the body has more than {self._service.largest} bytes")

    def on_chunk_complete(self) -> None:
        if self._coming is not None and self._coming.sink is not None:
            self._coming.sink(b"", True)

    def on_message_complete(self) -> None:
        request, self._coming = self._coming, None
        assert request is not None
        if self._serving is None:
            self._serving = request
            self._service.serve(request)
        else:  # sent ahead: its turn comes when the one before it is answered
            self._waiting.append(request)
            if len(self._waiting) == 8:
                self._transport.pause_reading()

    def _grow(self, size: int) -> None:
        self._head += size
        if self._head > self._service.largest_head:
            raise _Refused(431, f"the head has more than {self._service.largest_head} bytes")

    # answers

    def reply(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Answer the request that is being served, in one piece."""
        self.reply_with(status, headers.items(), body)

    def reply_with(self, status: int, headers: Iterable[tuple[str, str]], body: bytes) -> None:
        """The same with headers that may repeat."""
        request = self._serving
        if request is None or self.gone:
            return
        lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Unknown')}\r\n"]
        lines += [f"{name}: {value}\r\n" for name, value in headers]
        if not request.keep_alive:
            lines.append("Connection: close\r\n")
        bare = status in (204, 304) or status < 200
        lines.append("\r\n" if bare else f"Content-Length: {len(body)}\r\n\r\n")
        head = "".join(lines).encode("latin-1", "replace")
        if bare or request.method == "HEAD":
            self._transport.write(head)
        elif len(body) < 65536:
            self._transport.write(head + body)
        else:
            self._transport.writelines([head, body])
        self._done(request)

    def begin(self, status: int, headers: list[tuple[str, str]]) -> None:
        """Begin an answer whose pieces follow."""
        request = self._serving
        if request is None or self.gone:
            return
        lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Unknown')}\r\n"]
        lines += [f"{name}: {value}\r\n" for name, value in headers]
        self._chunked = status not in (204, 304) and request.method != "HEAD"
        lines += ["Transfer-Encoding: chunked\r\n"] if self._chunked else []
        lines += [] if request.keep_alive else ["Connection: close\r\n"]
        self._transport.write("".join([*lines, "\r\n"]).encode("latin-1", "replace"))

    def piece(self, data: bytes) -> None:
        if data and self._chunked and not self.gone:
            self._transport.write(b"%x\r\n%b\r\n" % (len(data), data))

    @property
    def slow(self) -> bool:
        """Whether much of what was written waits for the other side."""
        return self._slow

    def pass_on(self, data: bytes, source: "Connection | None") -> None:
        """A piece that came from another connection, which is not read on while this one's reader is slow."""
        self.piece(data)
        if self._slow and source is not None and not self.gone:
            source.pause_reading()
            self._feeding = source

    def pause_reading(self) -> None:
        if not self.gone:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if not self.gone:
            self._transport.resume_reading()

    def end(self) -> None:
        request = self._serving
        if request is None or self.gone:
            return
        if self._chunked:
            self._transport.write(b"0\r\n\r\n")
            self._chunked = False
        self._done(request)

    def abort(self) -> None:
        """Close without an end, so that the other side sees that the answer is not whole."""
        if not self.gone:
            self._transport.abort()

    def close(self) -> None:
        if not self.gone:
            self._transport.close()

    def refuse(self, status: int, message: str) -> None:
        """Answer what cannot be served and hang up: what follows on the wire means nothing any more."""
        self._over = True
        if self._serving is None and not self.gone:
            self._serving = request = self._coming or Request(self)
            request.keep_alive = False
            request.method = request.method or "GET"
            kind = {"X-Amzn-ErrorType": "RequestTooLargeException"} if status == 413 else {}
            self.reply(status, {"Content-Type": "application/json", **kind}, _error_body(status, message))
        else:
            self.close()

    def _done(self, request: Request) -> None:
        self._serving = None
        if self._over:
            # Who is still sending would be cut off before reading why: listen a while, and forget what comes.
            self._transport.write_eof()
            asyncio.get_running_loop().call_later(_LINGER, self.close)
        elif not request.keep_alive:
            self._over = True
            self._transport.close()
        elif self._waiting:
            self._serving = self._waiting.popleft()
            if len(self._waiting) == 7:
                self._transport.resume_reading()
            self._service.serve(self._serving)

    @property
    def peer(self) -> str:
        name: Any = self._transport.get_extra_info("peername")
        return str(name[0]) if isinstance(name, tuple) and name else "127.0.0.1"


def _split(target: bytes) -> tuple[str, str]:
    """Path and query."""
    try:
        url = httptools.parse_url(target)
    except httptools.HttpParserInvalidURLError:
        raise _Refused(400, "the request's target is no path") from None
    return (url.path or b"/").decode("latin-1"), (url.query or b"").decode("latin-1")


#: the same for those that come again and again
_known = lru_cache(maxsize=64)(_split)


class _Refused(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def _error_body(status: int, message: str) -> bytes:
    from json import dumps

    if status == 413:
        message = "Request must be smaller than 6291456 bytes for the InvokeFunction operation"
    return dumps({"Type": "User", "message": message}).encode()
