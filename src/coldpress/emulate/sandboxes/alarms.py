"""Clocks by name that share one timer of the loop: to set and stop one for each request costs next to nothing."""

import asyncio
import time
from collections.abc import Callable

Ring = Callable[[], None]


class Alarms:
    """The timer is left running when a clock is stopped or put off; when it fires, what is due rings."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._set: dict[str, tuple[float, Ring]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._fires = 0.0

    def set(self, name: str, seconds: float, ring: Ring) -> None:
        """Have `ring` called once, that much later. The same name again puts it off."""
        at = time.monotonic() + seconds
        self._set[name] = (at, ring)
        if self._timer is None or at < self._fires:
            self._wind(at)

    def stop(self, name: str) -> bool:
        """Whether it was still to ring, or rings just now."""
        return self._set.pop(name, None) is not None

    def stop_all(self) -> None:
        self._set.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wind(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._fires = at
        self._timer = self._loop.call_later(max(0.0, at - time.monotonic()), self._fire)

    def _fire(self) -> None:
        self._timer = None
        now = time.monotonic()
        try:
            for name in [name for name, (at, _) in self._set.items() if at <= now]:
                self._ring(name, now)
        finally:  # one that fails does not stop the others
            if self._set and self._timer is None:
                self._wind(min(at for at, _ in self._set.values()))

    def _ring(self, name: str, now: float) -> None:
        due = self._set.get(name)
        if due is None or due[0] > now:  # stopped, or put off, by one that rang before it
            return
        try:
            due[1]()
        finally:
            if self._set.get(name) is due:
                del self._set[name]
