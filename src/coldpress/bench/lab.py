"""A local Lambda to measure in: its sandboxes are asked directly, one at a time, and made anew at will.

The limits are those of `coldpress serve`: memory and the share of CPU that it buys, held by control groups.
"""

import asyncio
import json
import os
import threading
import time
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from coldpress.emulate.sandboxes.fleet import Fleet, Throttled
from coldpress.emulate.sandboxes.invocation import Answered, Invocation
from coldpress.emulate.sandboxes.settings import Settings
from coldpress.emulate.serving import Options, Target, find_target, make_starter
from coldpress.emulate.world.cgroups import MB_PER_VCPU, vcpus
from coldpress.emulate.world.namespaces import Starter
from coldpress.errors import FunctionError, MissingPart, UsageError

#: Lambda's own limits
LEAST_MB, MOST_MB = 128, 10240
#: seconds: a size with little CPU takes its time, and what takes longer than this is not worth a figure
TIMEOUT = 120.0
#: of a vCPU: 3538 MB are two, and a thousandth
ROUNDING = 0.01
#: a sandbox waits for its turn for as long as it takes
_IDLE = 24 * 3600.0
_OUT_OF_MEMORY = "Runtime.OutOfMemory"
#: how long sandboxes that were killed may take to be gone
_PATIENCE = 10.0
#: Seconds: a sandbox's share of CPU is counted anew in every period of 20 ms. A request that comes after a pause,
#: as most do, finds a whole share; one right behind another pays for both.
_REST = 0.021

_Value = TypeVar("_Value")


class DoesNotFit(FunctionError):
    """The function ran out of memory or of time at one memory size, and may do well at another."""

    def __init__(self, why: str, memory_mb: int) -> None:
        super().__init__(f"the function does not fit {memory_mb} MB: {why}; give it more: --memory")
        self.why = why


@dataclass(frozen=True)
class Shot:
    """One answered request, in milliseconds as Lambda counts them."""

    duration_ms: float
    #: what Lambda bills as init; None when the sandbox was warm
    init_ms: float | None
    #: process start to answer; None when the sandbox was warm
    cold_ms: float | None
    #: by time.monotonic(): when the function's process began, if it did for this, and when the answer was complete
    born: float
    done: float
    peak_mb: float


class Lab:
    """One function at one memory size. Made by `lab()`."""

    def __init__(self, fleet: Fleet, loop: asyncio.AbstractEventLoop) -> None:
        self._fleet = fleet
        self._loop = loop
        self.memory_mb = fleet.settings.memory_mb
        self._last = 0.0

    def ask(self, event: bytes) -> Shot:
        """Ask the warm sandbox, or a new one where there is none; its share of CPU is unspent."""
        time.sleep(max(0.0, self._last + _REST - time.monotonic()))
        shot = _shot(self._run(self._ask(event)), event, self.memory_mb)
        self._last = shot.done
        return shot

    def ask_on_and_on(self, event: bytes, seconds: float, most: int) -> float:
        """Requests a second when each comes right behind the one before."""
        return self._run(self._on_and_on(event, seconds, most))

    def renew(self) -> None:
        """End all sandboxes: the next request finds none."""
        self._run(self._renew())

    def close(self) -> None:
        self._run(self._fleet.drain(0))

    def log(self) -> str:
        """What the function wrote so far, as far as it is kept."""
        return self._run(self._log())

    def _run(self, work: Coroutine[Any, Any, _Value]) -> _Value:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _ask(self, event: bytes) -> Answered | Throttled:
        answered: asyncio.Future[Answered | Throttled] = self._loop.create_future()
        self._fleet.submit(Invocation(event), answered.set_result)
        found = await answered
        await asyncio.sleep(0)  # the peak is noted once the answer is on its way
        return found

    async def _on_and_on(self, event: bytes, seconds: float, most: int) -> float:
        began, count = time.monotonic(), 0
        while count < most and (count == 0 or time.monotonic() - began < seconds):
            _shot(await self._ask(event), event, self.memory_mb)
            count += 1
        return count / (time.monotonic() - began)

    async def _renew(self) -> None:
        for sandbox in [*self._fleet.sandboxes.values()]:
            sandbox.kill()
        end = time.monotonic() + _PATIENCE
        while self._fleet.sandboxes and time.monotonic() < end:
            await asyncio.sleep(0.002)

    async def _log(self) -> str:
        await asyncio.sleep(0.02)  # its last lines come a moment after the answer
        return "\n".join(entry.line for entry in self._fleet.log.entries)


@contextmanager
def labs(
    folder: Path, sizes: Sequence[int], *, env: dict[str, str] | None = None, must_hold: bool = True
) -> Iterator[list[Lab]]:
    """The function of an artifact at each of `sizes`; `must_hold`: it is an error if their limits cannot be."""
    target = find_target(folder)
    with ExitStack() as stack:
        loop = stack.enter_context(_loop())
        made = []
        for size in sizes:
            settings = Settings(name=target.name, memory_mb=size, timeout=TIMEOUT, idle=_IDLE, env=env or {})
            fleet = asyncio.run_coroutine_threadsafe(_fleet(target, settings, must_hold), loop).result()
            lab = Lab(fleet, loop)
            stack.callback(lab.close)
            made.append(lab)
        yield made


def cores() -> int:
    return len(os.sched_getaffinity(0))


def check_size(memory_mb: int) -> None:
    """Whether Lambda has such a size, and this machine the cores that it buys."""
    if not LEAST_MB <= memory_mb <= MOST_MB:
        raise UsageError(f"{memory_mb} MB is not a size of Lambda's: it has {LEAST_MB} to {MOST_MB:,} MB")
    if vcpus(memory_mb) > cores() + ROUNDING:
        raise UsageError(
            f"{memory_mb} MB buy {vcpus(memory_mb):.1f} vCPUs, and this machine has {cores()}: a figure from here "
            f"would be too slow; leave it out, up to {min(MOST_MB, cores() * MB_PER_VCPU)} MB can be measured"
        )


def not_held(folder: Path, memory_mb: int) -> str | None:
    """Why this machine cannot hold a function to its memory and share of CPU; None if it can."""
    starter = make_starter(find_target(folder), Settings(memory_mb=memory_mb), Options())
    try:
        return _lost(starter)
    finally:
        starter.close()


def cannot_hold(memory_mb: int, why: str) -> MissingPart:
    return MissingPart(
        f"{memory_mb} MB buy {vcpus(memory_mb):.2f} vCPU on Lambda, and this machine cannot hold a function to "
        f"that: {why}. Run it as root, or where control groups may be made; or measure one whole core: "
        f"--memory {MB_PER_VCPU} without --sweep"
    )


def _lost(starter: Starter) -> str | None:
    return next((one.how for one in starter.held if one.what == "CPU share" and not one.enforced), None)


async def _fleet(target: Target, settings: Settings, must_hold: bool) -> Fleet:
    starter = make_starter(target, settings, Options())
    lost = _lost(starter)
    if must_hold and lost is not None:
        starter.close()
        raise cannot_hold(settings.memory_mb, lost)
    return Fleet(settings, starter)


@contextmanager
def _loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop in a thread of its own."""
    ready: Future[asyncio.AbstractEventLoop] = Future()

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        ready.set_result(loop)
        stops.append(lambda: loop.call_soon_threadsafe(stop.set))
        await stop.wait()

    stops: list[Any] = []
    thread = threading.Thread(target=lambda: asyncio.run(main()), name="bench-lambda")
    thread.start()
    try:
        yield ready.result()
    finally:
        stops[0]()
        thread.join()


def _shot(answered: Answered | Throttled, event: bytes, memory_mb: int) -> Shot:
    if isinstance(answered, Throttled):
        raise FunctionError(f"no sandbox could be started: {answered.reason}")
    outcome, report = answered.outcome, answered.report
    if outcome.error_type == _OUT_OF_MEMORY:
        raise DoesNotFit("out of memory", memory_mb)
    if report.status == "timeout":
        raise DoesNotFit(f"no answer within {TIMEOUT:g} s", memory_mb)
    if not outcome.ok or _refused(outcome.body):
        asked, said = event.decode(errors="replace")[:200], outcome.body.decode(errors="replace")[:500]
        raise FunctionError(f"the function did not answer {asked} while it was measured: {said}")
    if report.init_ms is None:
        return Shot(report.duration_ms, None, None, 0.0, outcome.done, report.peak_mb)
    cold = (outcome.done - dict(report.marks)["init"]) * 1000
    return Shot(report.duration_ms, report.init_ms, cold, outcome.done - cold / 1000, outcome.done, report.peak_mb)


def _refused(body: bytes) -> bool:
    """Whether an answer is the function's own {"error": {"code", "message"}}."""
    if not body.startswith(b'{"error"'):
        return False
    try:
        found = json.loads(body)
    except ValueError:
        return False
    return isinstance(found, dict) and isinstance(found.get("error"), dict) and "code" in found["error"]
