"""A local Lambda that functions are deployed to: one address for its API, for Invoke, and for their URLs."""

import asyncio
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from coldpress.emulate.control.fleets import FleetOptions, Fleets
from coldpress.emulate.control.front import Front
from coldpress.emulate.control.plane import Plane
from coldpress.emulate.control.store import Store
from coldpress.emulate.front.server import Address, listen
from coldpress.emulate.front.signatures import Credentials
from coldpress.emulate.wire import Connection
from coldpress.emulate.world.namespaces import launcher


@dataclass
class Functions:
    """A local Lambda with any number of functions, kept in `folder`; runs until it is asked to stop."""

    folder: Path
    address: Address = field(default_factory=Address)
    options: FleetOptions = field(default_factory=FleetOptions)
    #: what requests to URLs with AWS_IAM are signed with; and all others too, if they have to be `signed`
    credentials: Credentials = field(default_factory=lambda: Credentials("local", "local"))
    signed: bool = False
    dead_letters: Path | None = None
    #: how long a change takes, and the seed of what decides by weight
    settle: float = 0.1
    seed: int | None = None
    plane: Plane = field(init=False, repr=False)

    async def run(self, started: Callable[[str], None], stop: asyncio.Event | None = None) -> None:
        """Serve until SIGINT or SIGTERM, or until `stop`; then let what is under way end."""
        launcher()  # first of all: without it nothing deployed here could run
        loop = asyncio.get_running_loop()
        stop = stop or asyncio.Event()
        store = Store(self.folder)
        try:
            fleets = Fleets(store, self.options, self.dead_letters or store.folder / "dead-letters.jsonl")
            draw = Random(self.seed).random  # noqa: S311 - routes, guards nothing
            self.plane = Plane(store, fleets, self.settle, draw)
            listener = listen(self.address)
            front = Front(self.plane, self.credentials, self.signed, self.address.host)
            for number in (signal.SIGINT, signal.SIGTERM):
                try:
                    loop.add_signal_handler(number, self._asked_to_stop, stop)
                except (ValueError, RuntimeError):  # not the main thread: whoever started it stops it
                    break
            server = await loop.create_server(lambda: Connection(front), sock=listener)
            host, port = listener.getsockname()[:2]
            front.base = f"http://{f'[{host}]' if ':' in host else host}:{port}"
            try:
                for function in [*store.functions.values()]:
                    self.plane.provide(function)
                self.plane.feeders.start_all()
                started(front.base)
                await stop.wait()
            finally:
                server.close()
                await front.finish()
                await self.plane.feeders.close()
                await fleets.close()
                front.close()
                await asyncio.sleep(0)  # transports close on the loop's next turn
        finally:
            store.close()

    def _asked_to_stop(self, stop: asyncio.Event) -> None:
        """The first time what is under way may end; the second time nothing may."""
        if stop.is_set():
            self.plane.feeders.hurry()
            self.plane.fleets.hurry()
        stop.set()
