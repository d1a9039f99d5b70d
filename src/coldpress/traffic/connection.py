"""One keep-alive connection: a request at a time, its answer read just far enough to judge it."""

import asyncio
from dataclasses import dataclass
from typing import Protocol, cast

from coldpress.errors import MissingExtra
from coldpress.traffic.answer import FUNCTION_ERROR, NOTHING, READ, Told, told
from coldpress.traffic.rows import Kind

try:
    import httptools
except ImportError:
    raise MissingExtra("serve", "httptools", "sending traffic") from None

_FRAMING = (b"content-length", b"transfer-encoding")
#: an answer is read into the same place on every connection: its body is counted, never kept
_BUFFER = memoryview(bytearray(1 << 16))


@dataclass(slots=True)
class Exchange:
    """A request under way. The loop's time when it is due, and when it was sent; 0 if it was not."""

    due: float
    sent: float = 0.0
    waited: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    kind: Kind
    status: int = 0
    told: Told = NOTHING
    problem: str = ""


class Owner(Protocol):
    """Who hears of it: `made` and `lost` once for a connection, `ended` once for every exchange."""

    received: int

    def made(self, connection: "Connection") -> None: ...

    def ended(self, connection: "Connection", exchange: Exchange, outcome: Outcome, reusable: bool) -> None: ...

    def lost(self, connection: "Connection") -> None: ...


class Connection(asyncio.BufferedProtocol):
    def __init__(self, owner: Owner) -> None:
        self.exchange: Exchange | None = None
        self._owner = owner
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[bytes, bytes] = {}
        self._framed = False
        self._headed = False
        self._complete = False
        self._reusable = False

    @property
    def usable(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def ask(self, exchange: Exchange, request: bytes) -> None:
        assert self._transport is not None
        self.exchange = exchange
        self._headed = self._complete = False
        self._transport.write(request)

    def give_up(self, outcome: Outcome) -> None:
        """End the exchange, and the connection: whatever still comes belongs to nobody."""
        self._end(outcome, reusable=False)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _end(self, outcome: Outcome, reusable: bool) -> None:
        exchange, self.exchange = self.exchange, None
        if not reusable:
            self.abort()
        if exchange is not None:
            self._owner.ended(self, exchange, outcome, reusable)

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._owner.made(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return _BUFFER

    def buffer_updated(self, nbytes: int) -> None:
        self._owner.received += nbytes
        if self.exchange is None:  # speaks without being asked
            self.abort()
            return
        try:
            self._parser.feed_data(_BUFFER[:nbytes])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.give_up(Outcome(Kind.CONNECTION, problem=f"the answer is not HTTP/1.1: {error}"))
            return
        if self._complete:
            self._end(self._outcome(), self._reusable)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.exchange is not None:
            if exc is None and self._headed and not self._framed:  # such an answer ends with its connection
                outcome = self._outcome()
            else:
                words = getattr(exc, "strerror", None) or "the server hung up before it had answered"
                outcome = Outcome(Kind.CONNECTION, problem=words)
            self._end(outcome, reusable=False)
        self._owner.lost(self)

    # What the parser calls.

    def on_message_begin(self) -> None:
        self._headers.clear()
        self._framed = False

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name in READ:
            self._headers[name] = value
        elif name in _FRAMING:
            self._framed = True

    def on_headers_complete(self) -> None:
        self._headed = self._parser.get_status_code() >= 200

    def on_message_complete(self) -> None:
        if self._headed:  # 1xx only announces an answer
            self._complete = True
            self._reusable = self._parser.should_keep_alive()

    def _outcome(self) -> Outcome:
        status = self._parser.get_status_code()
        if status == 429:
            kind = Kind.THROTTLED
        elif not 200 <= status < 300:
            kind = Kind.STATUS
        else:
            kind = Kind.FUNCTION if FUNCTION_ERROR in self._headers else Kind.GOOD
        return Outcome(kind, status, told(self._headers))
