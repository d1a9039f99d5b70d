"""Keep-alive connections to one server: a free one, a new one, or a place in the queue."""

import asyncio
import os
import socket
import ssl
from collections import deque
from collections.abc import Callable

from coldpress.errors import FunctionError
from coldpress.traffic.address import Address
from coldpress.traffic.connection import Connection, Exchange, Outcome
from coldpress.traffic.rows import Kind

_FIRST_CONNECT = 10.0


class Pool:
    """Takes exchanges; `record` hears of each once. No more than `most` connections are open."""

    def __init__(
        self, address: Address, most: int, timeout: float, record: Callable[[Exchange, Outcome], None]
    ) -> None:
        self.sent = self.received = 0
        self._address, self._most, self._timeout, self._record = address, most, timeout, record
        self._tls = ssl.create_default_context() if address.tls else None
        self._ip = ""
        self._loop = asyncio.get_running_loop()
        self._connections: set[Connection] = set()
        #: the last to come free is the first to be used: the others may rest, and be closed by the server
        self._idle: list[Connection] = []
        self._connecting: set[asyncio.Task[None]] = set()
        #: places taken, by connections and by those that are being made
        self._taken = 0
        self._waiting: deque[tuple[Exchange, bytes]] = deque()
        self._closed = False

    async def connect_first(self) -> None:
        """Before the clock runs: a server that is not there is one error, not a thousand."""
        address = self._address
        try:
            found = await self._loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise FunctionError(
                f"the host {address.host!r} has no address: {_words(error)}; is the URL right?"
            ) from None
        problem: OSError = OSError("it has no address")
        for _, _, _, _, where in found:
            self._ip = str(where[0])
            try:
                async with asyncio.timeout(min(_FIRST_CONNECT, self._timeout)):
                    self._idle.append(await self._connect())
            except OSError as error:
                problem = error
            else:
                self._taken += 1
                return
        if not isinstance(problem, ConnectionRefusedError):
            raise FunctionError(f"no connection to {address.place}: {_words(problem)}; is the URL right?")
        then = "start a function there: coldpress serve DIR" if address.here else "is the URL right?"
        raise FunctionError(f"nothing listens at {address.place}: {_words(problem)}; {then}")

    def take(self, exchange: Exchange, request: bytes) -> None:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                self._ask(connection, exchange, request)
                return
        if self._taken < self._most:
            self._connect_for(exchange, request)
        else:
            exchange.waited = True
            self._waiting.append((exchange, request))

    def give_up(self, due_by: float) -> None:
        """End what was due that long ago. One look at all, now and then, is cheaper than a timer for each."""
        for connection in tuple(self._connections):
            if connection.exchange is not None and connection.exchange.due <= due_by:
                connection.give_up(Outcome(Kind.TIMEOUT))
        while self._waiting and self._waiting[0][0].due <= due_by:
            self._record(self._waiting.popleft()[0], Outcome(Kind.UNSENT))

    async def close(self) -> None:
        """Leave nothing open. What is under way ends without a word."""
        self._closed = True
        connecting = tuple(self._connecting)
        for task in connecting:
            task.cancel()
        await asyncio.gather(*connecting, return_exceptions=True)
        for connection in tuple(self._connections):
            connection.exchange = None
            connection.abort()
        while self._connections:  # each is gone a turn of the loop after it was aborted
            await asyncio.sleep(0)

    def _ask(self, connection: Connection, exchange: Exchange, request: bytes) -> None:
        exchange.sent = exchange.sent or self._loop.time()
        self.sent += len(request)
        connection.ask(exchange, request)

    def _connect_for(self, exchange: Exchange, request: bytes) -> None:
        exchange.sent = self._loop.time()  # to connect is the network's time, not our lag
        self._taken += 1
        task = self._loop.create_task(self._connect_and_ask(exchange, request))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    async def _connect_and_ask(self, exchange: Exchange, request: bytes) -> None:
        try:
            async with asyncio.timeout_at(exchange.due + self._timeout):
                connection = await self._connect()
        except OSError as error:  # TimeoutError and what TLS raises are such errors too
            late = isinstance(error, TimeoutError) and error.errno is None
            self._record(exchange, Outcome(Kind.TIMEOUT if late else Kind.CONNECTION, problem=_words(error)))
            self._freed()
            return
        self._ask(connection, exchange, request)

    async def _connect(self) -> Connection:
        name = self._address.host if self._tls else None
        _, connection = await self._loop.create_connection(
            lambda: Connection(self), self._ip, self._address.port, ssl=self._tls, server_hostname=name
        )
        return connection

    def _freed(self) -> None:
        self._taken -= 1
        if self._waiting and not self._closed:
            self._connect_for(*self._waiting.popleft())

    # What connections tell.

    def made(self, connection: Connection) -> None:
        self._connections.add(connection)

    def ended(self, connection: Connection, exchange: Exchange, outcome: Outcome, reusable: bool) -> None:
        self._record(exchange, outcome)
        if not reusable:
            return  # `lost` will follow
        if self._waiting:
            self._ask(connection, *self._waiting.popleft())
        else:
            self._idle.append(connection)

    def lost(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        self._freed()


def _words(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, TimeoutError) and error.errno is None:
        return "no connection in time"
    if error.errno and not isinstance(error, ssl.SSLError | socket.gaierror):  # these have numbers of their own
        return os.strerror(error.errno)
    return error.strerror or str(error)
