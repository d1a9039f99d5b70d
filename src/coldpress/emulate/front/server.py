"""The local Lambda: one address for the Invoke API, the Function URL and the page, and the sandboxes behind it."""

import asyncio
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from coldpress.emulate.front.background import Background
from coldpress.emulate.front.function_url import FunctionUrl, UrlSettings
from coldpress.emulate.front.guard import guarded
from coldpress.emulate.front.invoke_api import InvokeApi
from coldpress.emulate.front.playground import Playground
from coldpress.emulate.sandboxes.fleet import Fleet
from coldpress.emulate.sandboxes.invocation import LARGEST_EVENT
from coldpress.emulate.wire import Connection, Request
from coldpress.errors import UsageError


@dataclass(frozen=True)
class Address:
    host: str = "127.0.0.1"
    port: int = 9000


@dataclass
class Local:
    """A local Lambda, running until it is asked to stop."""

    fleet: Fleet
    url: UrlSettings = field(default_factory=UrlSettings)
    dead_letters: Path = Path("dead-letters.jsonl")
    address: Address = field(default_factory=Address)
    facts: dict[str, object] = field(default_factory=dict)

    async def run(self, started: Callable[[str], None], stop: asyncio.Event | None = None) -> None:
        """Serve until SIGINT or SIGTERM, or until `stop`; then let what is under way end."""
        loop = asyncio.get_running_loop()
        stop = stop or asyncio.Event()
        background = Background(self.fleet, self.dead_letters)
        front = Front(self, background)
        listener = listen(self.address)
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, self._asked_to_stop, stop)
            except (ValueError, RuntimeError):  # not the main thread: whoever started it stops it
                break
        server = await loop.create_server(lambda: Connection(front), sock=listener)
        try:
            await self.fleet.start()
            host, port = listener.getsockname()[:2]
            started(f"http://{f'[{host}]' if ':' in host else host}:{port}")
            await stop.wait()
        finally:
            server.close()
            await self.fleet.drain(self.fleet.settings.timeout)
            background.close()
            front.close()
            await asyncio.sleep(0)  # transports close on the loop's next turn

    def _asked_to_stop(self, stop: asyncio.Event) -> None:
        """The first time what is under way may end; the second time nothing may."""
        if stop.is_set():
            self.fleet.hurry()
        stop.set()


class Front:
    """Hands each request to who it is for: a wire.Service."""

    largest = LARGEST_EVENT + 65536
    largest_head = 65536

    def __init__(self, local: Local, background: Background) -> None:
        self._invoke = InvokeApi(local.fleet, background)
        self._url = FunctionUrl(local.fleet, local.url)
        self.page = Playground(
            local.fleet, background, local.facts, local.url.credentials is not None, local.address.host
        )
        self._connections: set[Connection] = set()

    def joined(self, connection: Connection) -> None:
        self._connections.add(connection)

    def opened(self, request: Request) -> None:
        return

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self.page.left(connection)

    def close(self) -> None:
        self.page.close()
        for connection in [*self._connections]:
            connection.close()

    def serve(self, request: Request) -> None:
        if request.path == "/_":
            request.connection.reply(308, {"Location": "/_/"}, b"")
            return
        if request.path.startswith("/_/"):
            self.page.answer(request)
            return
        invokes = InvokeApi.serves(request.path)
        if invokes and "origin" in request.headers and not self.page.is_own(request):
            request.connection.reply(403, {}, b"")  # a browser, on some other page's behalf
            return
        answer = self._invoke.answer if invokes else self._url.answer
        guarded(request, answer)(request)


def listen(address: Address) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        return socket.create_server((address.host, address.port), family=family, backlog=512)
    except OSError as error:
        raise UsageError(
            f"{address.host}:{address.port} cannot be listened on ({error.strerror}): "
            "choose another with --port, or 0 for any"
        ) from None
