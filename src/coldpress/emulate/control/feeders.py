"""The queues that feed deployed functions: a poller for each event source mapping that is enabled."""

import asyncio
import time
from collections.abc import Callable

from coldpress.emulate.control import names
from coldpress.emulate.control.fleets import Fleets
from coldpress.emulate.control.store import Function, Mapping, Store
from coldpress.emulate.front.invoke_api import Refusal
from coldpress.emulate.queues.batching import MOST_CONCURRENCY, Batching
from coldpress.emulate.queues.fed import submitted
from coldpress.emulate.queues.poller import Poller
from coldpress.emulate.queues.queue import Queue, find_queue
from coldpress.emulate.sandboxes.fleet import Throttled
from coldpress.emulate.sandboxes.invocation import Answered
from coldpress.emulate.sandboxes.logbook import Entry

#: seconds until a queue that cannot be found at a restart is looked for again: doubled each time
_SOON, _LATEST = 1.0, 30.0
#: the version that answers one request of a function's qualifier
Route = Callable[[Function, str], str]


def batching_of(mapping: Mapping) -> Batching:
    return Batching(mapping.size, mapping.window, mapping.concurrency or MOST_CONCURRENCY, mapping.reports)


class Fed:
    """The function of a mapping, whichever version it means when a batch comes: a poller.Target."""

    def __init__(self, mapping: Mapping, store: Store, fleets: Fleets, route: Route) -> None:
        self._name, self._qualifier = mapping.function, mapping.qualifier
        self._store = store
        self._fleets = fleets
        self._route = route

    def is_there(self) -> bool:
        function, qualifier = self._store.functions.get(self._name), self._qualifier
        return function is not None and (
            not qualifier or qualifier in function.versions or qualifier in function.aliases
        )

    async def invoke(self, event: bytes) -> Answered | Throttled:
        function = self._store.functions.get(self._name)
        if function is None:
            return Throttled("the function was deleted")
        try:
            served = await self._fleets.ensure(self._name, self._route(function, self._qualifier))
        except Refusal as refusal:  # still Pending, deleted meanwhile, shutting down
            return Throttled(refusal.message)
        return await submitted(served.fleet, event, names.arn(self._name, self._qualifier))


class Feeder:
    """One mapping at work, from the search for its queue on."""

    def __init__(self, mapping: Mapping, queue: Queue | None, fed: Fed, tell: Callable[[str], None]) -> None:
        self._mapping = mapping
        self._fed = fed
        self._tell = tell
        self._problem = ""
        self._poller: Poller | None = None
        self._finding: asyncio.Task[None] | None = None
        if queue is not None:
            self._poll(queue)
        else:
            self._finding = asyncio.get_running_loop().create_task(self._find())

    @property
    def result(self) -> str:
        return self._poller.result if self._poller is not None else self._problem or "No records processed"

    def _poll(self, queue: Queue) -> None:
        self._poller = Poller(queue, batching_of(self._mapping), self._fed, self._tell)
        self._poller.start()

    async def _find(self) -> None:
        """After a restart the queue may be late, or gone: that is no reason not to serve."""
        pause = _SOON
        while True:
            try:
                queue = await asyncio.to_thread(find_queue, self._mapping.queue)
            except Exception as error:  # noqa: BLE001 - told, and tried again
                self._problem = f"PROBLEM: {error}"
                self._tell(f"[queue] {error}; looked for again in {pause:.0f} s")
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LATEST)
                continue
            self._poll(queue)
            return

    async def end(self) -> None:
        """Let what is under way end."""
        if self._finding is not None:
            self._finding.cancel()
            await asyncio.wait([self._finding])
        if self._poller is not None:
            self._poller.stop()
            await self._poller.ended()

    def abandon(self) -> None:
        if self._poller is not None:
            self._poller.abandon()


class Feeders:
    def __init__(self, store: Store, fleets: Fleets, route: Route) -> None:
        self._store = store
        self._fleets = fleets
        self._route = route
        self._feeders: dict[str, Feeder] = {}
        self._ending: dict[asyncio.Task[None], Feeder] = {}

    def start_all(self) -> None:
        for mapping in self._store.mappings.values():
            if mapping.enabled:
                self.start(mapping)

    def start(self, mapping: Mapping, queue: Queue | None = None) -> None:
        """Feed by this from now on, not by what the mapping said before."""
        self.stop(mapping.uuid)
        name, fed = mapping.function, Fed(mapping, self._store, self._fleets, self._route)

        def tell(line: str) -> None:
            self._fleets.tell(name, [Entry(time.time(), "", line)])

        self._feeders[mapping.uuid] = Feeder(mapping, queue, fed, tell)

    def stop(self, uuid: str) -> None:
        feeder = self._feeders.pop(uuid, None)
        if feeder is not None:
            task = asyncio.get_running_loop().create_task(feeder.end())
            self._ending[task] = feeder
            task.add_done_callback(lambda done: self._ending.pop(done, None))

    def result(self, uuid: str) -> str:
        """Of the last batch, or why there is none."""
        return self._feeders[uuid].result if uuid in self._feeders else "No records processed"

    def hurry(self) -> None:
        for feeder in [*self._feeders.values(), *self._ending.values()]:
            feeder.abandon()

    async def close(self) -> None:
        for uuid in [*self._feeders]:
            self.stop(uuid)
        while self._ending:
            await asyncio.wait([*self._ending])
            await asyncio.sleep(0)
