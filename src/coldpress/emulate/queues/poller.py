"""An event source mapping at work: workers that receive, invoke, and take out of the queue what was done.

It scales as Lambda's does. One worker waits while there is nothing to do; whoever finds messages starts another,
five at once and then 300 a minute; who finds nothing ends. A function that throttles, or fails without telling
which messages did, has fewer. What is not taken out comes back when its visibility timeout is over: nothing here
changes that, so nothing can be lost, whatever ends when.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol, TypeVar

from coldpress.emulate.front.invoke_api import whole_body
from coldpress.emulate.queues.batching import Batching
from coldpress.emulate.queues.event import Recorded, cut, event_of, recorded
from coldpress.emulate.queues.gather import gather
from coldpress.emulate.queues.queue import Message, Queue
from coldpress.emulate.queues.verdict import Verdict, judge
from coldpress.emulate.sandboxes.fleet import Throttled
from coldpress.emulate.sandboxes.invocation import LARGEST_EVENT, Answered

_T = TypeVar("_T")
#: workers that may start at once; and seconds between further ones
_FIRST = 5
_PACE = 0.2
#: seconds for which no worker is added after a throttle or a failure
_COOL = 5.0
#: seconds until a throttled batch is tried again, or a queue that refused: doubled each time
_SOON, _LATEST = 0.1, 10.0


class Target(Protocol):
    """The function behind a queue."""

    def is_there(self) -> bool: ...
    async def invoke(self, event: bytes) -> Answered | Throttled: ...


class Poller:
    def __init__(self, queue: Queue, batching: Batching, target: Target, tell: Callable[[str], None]) -> None:
        self.queue = queue
        #: as Lambda puts it in LastProcessingResult
        self.result = "No records processed"
        self._batching = batching
        self._target = target
        self._tell = tell
        self._threads = ThreadPoolExecutor(batching.concurrency, "queue")
        self._workers: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        #: message groups of a FIFO queue that are being worked on
        self._groups: set[str] = set()
        self._last_start = 0.0
        self._cool_until = 0.0

    # from outside

    def start(self) -> None:
        self._add_worker()

    def stop(self) -> None:
        """Receive nothing more. What was received is finished, or left to come back if it cannot be now."""
        self._stopping.set()

    @property
    def workers(self) -> int:
        return len(self._workers)

    async def ended(self) -> None:
        """When all that was under way is over, after stop()."""
        while self._workers:
            await asyncio.wait([*self._workers])
            await asyncio.sleep(0)
        self._close()

    def abandon(self) -> None:
        """Wait for nobody: whatever is under way comes back."""
        for worker in [*self._workers]:
            worker.cancel()
        self._close()

    def _close(self) -> None:
        self._threads.shutdown(wait=False)
        self.queue.close()

    # workers

    def _add_worker(self) -> None:
        worker = asyncio.get_running_loop().create_task(self._work())
        self._workers.add(worker)
        self._last_start = time.monotonic()
        worker.add_done_callback(self._workers.discard)

    def _grow(self) -> None:
        now, number = time.monotonic(), len(self._workers)
        paced = number < _FIRST or now - self._last_start >= _PACE
        if (
            number < self._batching.concurrency
            and paced
            and now >= self._cool_until
            and not self._stopping.is_set()
        ):
            self._add_worker()

    async def _work(self) -> None:
        pause = _SOON
        while not self._stopping.is_set():
            try:
                found = await self._next()
                if found:
                    self._grow()
                    await self._carry_all(found)
            except Exception as error:  # noqa: BLE001 - SQS, a network, credentials: told, tried again
                self._told_problem(f"{self.queue.url}: {error}; tried again in {pause:.1f} s")
                await self._pause(pause)
                pause = min(pause * 2, _LATEST)
                continue
            pause = _SOON
            surplus = not found or time.monotonic() < self._cool_until
            if surplus and self._leave():
                return

    def _leave(self) -> bool:
        """Whether a worker may end: at once, so that the last two do not leave it to each other to stay."""
        worker = asyncio.current_task()
        if len(self._workers) <= 1 or worker is None:
            return False
        self._workers.discard(worker)
        return True

    async def _next(self) -> list[Message]:
        if not self._target.is_there():
            self.result = "PROBLEM: Function not found"
            await self._pause(1.0)
            return []
        return await gather(
            lambda most, wait: self._in_thread(partial(self.queue.receive, most, wait)),
            self._batching,
            self._stopping,
        )

    # batches

    async def _carry_all(self, found: list[Message]) -> None:
        # The first of them was hidden when the window opened.
        hidden_until = time.monotonic() + self.queue.visibility - self._batching.window
        for batch in cut(recorded(found, self.queue.arn)):
            if not await self._carry(batch, hidden_until) and self.queue.fifo:
                break  # what follows must not overtake it

    async def _carry(self, batch: list[Recorded], hidden_until: float) -> bool:
        """One batch, from its invocation to its end: whether all of it was done. Of a message group one is under
        way at a time: should SQS give more of it before that one is over, because its time was, they are left to
        come back in their order."""
        whole = len(batch)
        batch = [one for one in batch if _group(one[0]) not in self._groups]
        if not batch:
            return False
        groups = {group for one, _ in batch if (group := _group(one))}
        self._groups |= groups
        try:
            verdict = await self._judged(batch, hidden_until)
            if verdict is None:
                return False
            done = [one["ReceiptHandle"] for one, _ in batch if one["MessageId"] not in verdict.failed]
            await self._delete(done)
            return len(done) == whole
        finally:
            self._groups -= groups

    async def _judged(self, batch: list[Recorded], hidden_until: float) -> Verdict | None:
        """Which of a batch failed; None if nobody can say, so that all of it comes back."""
        event = event_of(batch)
        if len(event) > LARGEST_EVENT:
            self._told_problem(
                f"message {batch[0][0]['MessageId']} is an event of {len(event)} bytes; "
                f"a function takes {LARGEST_EVENT}: it is left to the queue's redrive policy"
            )
            return None
        answered = await self._invoke(event, hidden_until)
        if answered is None:
            return None
        if not answered.outcome.ok:
            self._told_problem(f"Function call failed: {answered.outcome.error_type}", logged=False)
            if not self._batching.reports:
                self._cool()
            return None
        self.result = "OK"
        if not self._batching.reports:
            return Verdict(frozenset())
        verdict = judge(whole_body(answered), {str(one["MessageId"]) for one, _ in batch})
        if verdict.wrong:
            self._told_problem(f"{verdict.wrong}; all {len(batch)} messages come back")
        return verdict

    async def _invoke(self, event: bytes, hidden_until: float) -> Answered | None:
        """Throttled is tried again while the messages are still hidden; then others may have them."""
        pause = _SOON
        while True:
            answered = await self._target.invoke(event)
            if isinstance(answered, Answered):
                return answered
            self._cool()
            if self._stopping.is_set() or time.monotonic() + pause > hidden_until:
                self._told_problem(
                    f"throttled ({answered.reason}) until the visibility timeout: a batch comes back"
                )
                return None
            await self._pause(pause)
            pause = min(pause * 2, _LATEST)

    async def _delete(self, receipts: list[str]) -> None:
        if not receipts:
            return
        try:
            refused = await self._in_thread(partial(self.queue.delete, receipts))
        except Exception as error:  # noqa: BLE001 - as in _work
            refused = [str(error)]
        for why in refused:
            self._told_problem(
                f"{self.queue.url}: a message that was done could not be deleted and comes again: {why}"
            )

    # small things

    def _cool(self) -> None:
        self._cool_until = time.monotonic() + _COOL

    def _told_problem(self, what: str, *, logged: bool = True) -> None:
        self.result = f"PROBLEM: {what}"
        if logged:
            self._tell(f"[queue] {what}")

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return

    async def _in_thread(self, call: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


def _group(message: Message) -> str | None:
    """A standard queue's messages may name a group too; there it keeps nothing in order."""
    attributes = message.get("Attributes", {})
    return str(attributes["MessageGroupId"]) if "SequenceNumber" in attributes else None
