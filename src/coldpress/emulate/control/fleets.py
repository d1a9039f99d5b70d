"""Which fleet answers for which version: made when it is first needed, replaced when the version changes."""

import asyncio
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from coldpress.emulate.control import errors, names
from coldpress.emulate.control.configs import VersionSettings, settings_of
from coldpress.emulate.control.fleet import Share, VersionFleet
from coldpress.emulate.control.store import Function, Store, digest_of
from coldpress.emulate.front.background import Background
from coldpress.emulate.front.invoke_api import InvokeApi, Refusal
from coldpress.emulate.sandbox import base_python
from coldpress.emulate.sandboxes.logbook import Entry
from coldpress.emulate.world.namespaces import World
from coldpress.package.bytecode import interpreters

#: of the account, as Lambda's default has it; and what must stay for functions that reserve nothing
MOST_AT_ONCE = 1000
UNRESERVED = 100
#: of a function's log that are kept
_LINES = 2000


@dataclass(frozen=True)
class FleetOptions:
    """What holds for every function here."""

    #: sandboxes of a function that has nothing reserved
    concurrency: int = 10
    idle: float = 300.0
    network: bool = False


@dataclass
class Served:
    """A version that runs: its sandboxes, its events, its part of the Invoke API."""

    fleet: VersionFleet
    background: Background
    api: InvokeApi
    #: of the configuration that it runs with
    revision: str
    digest: str


class Fleets:
    def __init__(self, store: Store, options: FleetOptions, dead_letters: Path) -> None:
        self._store = store
        self._options = options
        self._dead_letters = dead_letters
        self.served: dict[tuple[str, str], Served] = {}
        self._making: dict[tuple[str, str, str], asyncio.Task[None]] = {}
        self._shares: dict[str, Share] = {}
        self._retiring: dict[asyncio.Task[None], Served] = {}
        self._left: list[Background] = []
        self._providing: set[asyncio.Task[None]] = set()
        self._closing = False
        #: the last lines of each function, whatever its version
        self.logs: dict[str, deque[Entry]] = {}
        self.log_listeners: list[Callable[[str, list[Entry]], None]] = []

    @property
    def starting(self) -> int:
        return len(self._making) + len(self._providing)

    @property
    def ending(self) -> int:
        return len(self._retiring)

    def find(self, function: Function, version: str) -> Served | None:
        """The one that answers now, if it is there already."""
        served = self.served.get((function.name, version))
        if served is None or served.revision != function.versions[version]["RevisionId"]:
            return None
        return served

    async def ensure(self, name: str, version: str) -> Served:
        """The same, made if need be: once, however many ask. What it returns has not been replaced since."""
        while True:
            function = self._store.functions.get(name)
            if function is None or version not in function.versions:
                raise errors.not_found(f"Function not found: {names.arn(name, version)}")
            if self._closing:
                raise Refusal(503, "ServiceException", "the local Lambda is shutting down")
            if (found := self.find(function, version)) is not None:
                return found
            key = (name, version, str(function.versions[version]["RevisionId"]))
            if key not in self._making:
                task = asyncio.get_running_loop().create_task(self._make(function, version))
                task.add_done_callback(partial(self._made, key))
                self._making[key] = task
            await asyncio.shield(self._making[key])

    async def _make(self, function: Function, version: str) -> None:
        config = function.versions[version]
        name, digest = function.name, digest_of(config)
        settings = settings_of(name, config, idle=self._options.idle, most=MOST_AT_ONCE)
        with self._store.holding(digest):
            # Looking what this machine allows takes some processes: not while others wait for the loop.
            world = await asyncio.to_thread(_world, self._store.code(digest), settings, self._options.network)
            fleet = VersionFleet(settings, world, self.share(self._store.functions.get(name, function)))
            await fleet.start()
            self._store.hold(digest)
        fleet.log.listeners.append(lambda entries: self.tell(name, entries))
        background = Background(fleet, self._dead_letters)
        made = Served(fleet, background, InvokeApi(fleet, background, version), str(config["RevisionId"]), digest)
        current = self._store.functions.get(name)
        if current is None or current.versions.get(version, {}).get("RevisionId") != made.revision:
            self._retire(made)  # changed or deleted meanwhile
            return
        self.served[name, version] = made

    def _made(self, key: tuple[str, str, str], task: "asyncio.Task[None]") -> None:
        del self._making[key]

    def renew(self, function: Function, version: str) -> None:
        """A version has changed: its sandboxes end when they have answered; the next request starts new ones."""
        before = self.served.pop((function.name, version), None)
        if before is None:
            return
        if before.background.waiting:
            task = asyncio.get_running_loop().create_task(self._hand_over(before, function.name, version))
            self._providing.add(task)
            task.add_done_callback(self._provided)
        self._retire(before)

    async def _hand_over(self, before: Served, name: str, version: str) -> None:
        """Events that were accepted and wait are for the code that is there when they are tried."""
        before.fleet.successor = (await self.ensure(name, version)).fleet

    def drop(self, name: str, version: str | None = None) -> None:
        """A version, or all of a function, is deleted."""
        for key in [key for key in self.served if key[0] == name and version in (None, key[1])]:
            gone = self.served.pop(key)
            gone.background.close()
            self._retire(gone)
        if version is None:
            self._shares.pop(name, None)
            self.logs.pop(name, None)

    def share(self, function: Function) -> Share:
        """What the function may do at once, brought up to date."""
        share = self._shares.setdefault(function.name, Share(self._options.concurrency))
        share.reserved = function.reserved is not None
        share.limit = function.reserved if function.reserved is not None else self._options.concurrency
        if not share.reserved:  # what was provisioned may be used, whatever this machine usually gives
            share.limit = max(share.limit, sum(int(one["requested"]) for one in function.provisioned.values()))
        return share

    def provide(self, function: Function, version: str, number: int) -> None:
        """Keep so many of a version's sandboxes ready."""

        async def provide() -> None:
            served = await self.ensure(function.name, version)
            served.fleet.provision(number)

        task = asyncio.get_running_loop().create_task(provide())
        self._providing.add(task)
        task.add_done_callback(self._provided)

    def _provided(self, task: "asyncio.Task[None]") -> None:
        self._providing.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, Refusal):  # a version that is gone needs nobody
            self.tell("", [Entry(time.time(), "", f"sandboxes could not be started ahead: {error}")])

    def _retire(self, served: Served) -> None:
        if served.background.waiting:
            self._left.append(served.background)
        self._left = [background for background in self._left if background.waiting]

        async def drain() -> None:
            await served.fleet.drain(served.fleet.settings.timeout)
            self._store.let_go(served.digest)

        task = asyncio.get_running_loop().create_task(drain())
        self._retiring[task] = served
        task.add_done_callback(lambda done: self._retiring.pop(done, None))

    def tell(self, name: str, entries: list[Entry]) -> None:
        self.logs.setdefault(name, deque(maxlen=_LINES)).extend(entries)
        for listener in self.log_listeners:
            listener(name, entries)

    def hurry(self) -> None:
        for served in [*self.served.values(), *self._retiring.values()]:
            served.fleet.hurry()

    async def close(self) -> None:
        """Let what is under way end, write down which events were not answered, end all sandboxes."""
        self._closing = True
        while self._making or self._providing:
            await asyncio.wait([*self._making.values(), *self._providing])
            await asyncio.sleep(0)
        backgrounds = [served.background for served in self.served.values()] + self._left
        for key in [*self.served]:
            self._retire(self.served.pop(key))
        while self._retiring:
            await asyncio.wait([*self._retiring])
            await asyncio.sleep(0)
        for background in backgrounds:
            background.close()


def _world(root: Path, settings: VersionSettings, network: bool) -> World:
    """As the managed runtime starts a wrapper, its Python is our bootstrap's first argument."""
    managed = settings.runtime.startswith("python")
    return World(
        root,
        Path(python_for(settings.runtime)),
        pass_python=managed,
        memory_mb=settings.memory_mb,
        tmp_mb=settings.tmp_mb,
        network=network,
    )


def python_for(runtime: str) -> str:
    """The Python that a runtime names, or this one: pressed functions run on any."""
    wanted = runtime.removeprefix("python")
    this = f"{sys.version_info.major}.{sys.version_info.minor}"
    return base_python() if wanted == this else interpreters().get(wanted, base_python())
