"""A fleet that is fed by queues: they are polled from its start until it is drained."""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack

from coldpress.emulate.queues.batching import Batching, trouble_with
from coldpress.emulate.queues.poller import Poller
from coldpress.emulate.queues.queue import Queue, find_queue
from coldpress.emulate.sandboxes.fleet import Fleet, Throttled
from coldpress.emulate.sandboxes.invocation import Answered, Invocation
from coldpress.emulate.sandboxes.settings import Settings
from coldpress.emulate.world.namespaces import Starter
from coldpress.errors import UsageError

#: seconds that a receive under way may take
_LAST_RECEIVE = 5.0


async def submitted(fleet: Fleet, event: bytes, arn: str) -> Answered | Throttled:
    """An event's way through a fleet, as an Invoke's."""
    ended: asyncio.Future[Answered | Throttled] = asyncio.get_running_loop().create_future()

    def done(answered: Answered | Throttled) -> None:
        if not ended.done():  # whoever waited has been told to wait no more
            ended.set_result(answered)

    fleet.submit(Invocation(event, kind="queue", arn=arn), done)
    return await ended


class FedFleet(Fleet):
    """`named` are the queues, by URL or ARN."""

    def __init__(self, settings: Settings, starter: Starter, named: Sequence[str], batching: Batching) -> None:
        super().__init__(settings, starter)
        self._named = named
        self._batching = batching
        self.pollers: list[Poller] = []

    async def start(self) -> None:
        queues = await asyncio.to_thread(self._find)
        self.pollers = [
            Poller(queue, self._batching, self, lambda line: self.log.add("", line)) for queue in queues
        ]
        await super().start()
        for poller in self.pollers:
            poller.start()

    def _find(self) -> list[Queue]:
        with ExitStack() as undo:
            found = []
            for named in self._named:
                found.append(find_queue(named))
                undo.callback(found[-1].close)
                wrong = trouble_with(
                    self._batching,
                    fifo=found[-1].fifo,
                    visibility=found[-1].visibility,
                    timeout=self.settings.timeout,
                )
                if wrong:
                    raise UsageError(f"{named}: {wrong}")
            undo.pop_all()
        return found

    async def drain(self, patience: float) -> None:
        """Pollers first: what they have received may still be answered."""
        for poller in self.pollers:
            poller.stop()
        ended = asyncio.gather(*(poller.ended() for poller in self.pollers))
        await self._until(ended.done, patience + _LAST_RECEIVE)
        if not ended.done():
            for poller in self.pollers:
                poller.abandon()
        await ended
        await super().drain(patience)

    # poller.Target

    def is_there(self) -> bool:
        return True

    async def invoke(self, event: bytes) -> Answered | Throttled:
        return await submitted(self, event, self.settings.arn)
