"""The sender: each request leaves at its time, whatever became of those before it."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from coldpress.traffic.address import Address, request
from coldpress.traffic.answer import Start
from coldpress.traffic.connection import Exchange, Outcome
from coldpress.traffic.loop import told_to_stop
from coldpress.traffic.pool import Pool
from coldpress.traffic.rows import Rows
from coldpress.traffic.schedule import Arrival
from coldpress.traffic.summary import percentile

#: seconds between two looks for what is too late, and between two that are shown
_SWEEP = 0.05
_SHOW = 0.5
#: how many looks the figures shown reach back, and how many answers are enough for them
_WINDOW = 6
_SAMPLE = 2000
#: requests sent in one go when behind, before answers are read again
_AT_ONCE = 32


@dataclass(frozen=True)
class Moment:
    """How it stands; rate and percentiles are of the last three seconds."""

    seconds: float
    sent: int
    ended: int
    in_flight: int
    errors: int
    #: None where answers do not tell
    cold: int | None
    rate: float
    p50_ms: float | None
    p99_ms: float | None


Watch = Callable[[Moment], None]


class Sender:
    """Made inside the loop that it runs in. What came of the requests is in `rows`."""

    def __init__(self, address: Address, head: bytes, body: bytes, connections: int, timeout: float) -> None:
        self.rows = Rows()
        self.pool = Pool(address, connections, timeout, self._record)
        #: requests whose time came
        self.sent = 0
        self.interrupted = False
        #: from the start until all was over
        self.seconds = 0.0
        self._head, self._usual, self._timeout = head, request(head, body), timeout
        self._loop = asyncio.get_running_loop()
        self._start = 0.0
        self._all_sent = False
        self._drained = asyncio.Event()

    async def run(self, arrivals: Iterator[Arrival], watch: Watch | None = None) -> None:
        """Send them all and wait for the last answer, or until told to stop."""
        await self.pool.connect_first()
        self._start = self._loop.time()
        work = self._loop.create_task(self._work(arrivals))
        beside = [self._loop.create_task(self._sweep())]
        if watch is not None:
            beside.append(self._loop.create_task(self._show(watch)))
        for task in beside:  # an error there ends the work too
            task.add_done_callback(lambda _: work.cancel())

        def stop() -> None:
            self.interrupted = True
            work.cancel()

        try:
            with told_to_stop(self._loop, stop):
                await asyncio.wait([work])
        finally:
            self.seconds = self._loop.time() - self._start
            for task in (work, *beside):
                task.cancel()
            await asyncio.wait([work, *beside])
            await self.pool.close()
        for task in (*beside, work):
            if not task.cancelled():
                task.result()

    async def _work(self, arrivals: Iterator[Arrival]) -> None:
        for at, body in arrivals:
            due = self._start + at
            early = due - self._loop.time()
            if early > 0:
                await asyncio.sleep(early)
            elif self.sent % _AT_ONCE == 0:
                await asyncio.sleep(0)
            self.sent += 1
            self.pool.take(Exchange(due), self._usual if body is None else request(self._head, body))
        self._all_sent = True
        if len(self.rows) < self.sent:
            await self._drained.wait()

    def _record(self, exchange: Exchange, outcome: Outcome) -> None:
        due, now = exchange.due, self._loop.time()
        self.rows.add(
            due - self._start,
            1000 * ((exchange.sent or now) - due),
            1000 * (now - due),
            outcome.kind,
            status=outcome.status,
            waited=exchange.waited,
            told=outcome.told,
            problem=outcome.problem,
        )
        if self._all_sent and len(self.rows) == self.sent:
            self._drained.set()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(min(_SWEEP, self._timeout / 4))
            self.pool.give_up(self._loop.time() - self._timeout)

    async def _show(self, watch: Watch) -> None:
        """Told here and not by a thread, which would hold up the sender for longer at a time."""
        looks: deque[tuple[float, int]] = deque([(self._start, 0)], _WINDOW)
        while True:
            await asyncio.sleep(_SHOW)
            now, ended = self._loop.time(), len(self.rows)
            watch(self._moment(now, ended, *looks[0]))
            looks.append((now, ended))

    def _moment(self, now: float, ended: int, since: float, before: int) -> Moment:
        recent = sorted(self.rows.latency_ms[before : ended : 1 + (ended - before) // _SAMPLE])
        starts = self.rows.starts
        return Moment(
            seconds=now - self._start,
            sent=self.sent,
            ended=ended,
            in_flight=self.sent - ended,
            errors=self.rows.errors,
            cold=starts[Start.COLD] if starts[Start.COLD] or starts[Start.WARM] else None,
            rate=(ended - before) / (now - since),
            p50_ms=percentile(recent, 0.5),
            p99_ms=percentile(recent, 0.99),
        )
