"""How many sandboxes are kept ready: always the same, by the clock, or following how many are used."""

import math
from dataclasses import dataclass
from typing import Protocol

from coldpress.errors import UsageError

MINUTE = 60.0
_MINUTES_A_DAY = 24 * 60


@dataclass(frozen=True)
class Minute:
    """How much of what was ready worked: on average, and at most."""

    busy: float
    peak: int


class Provisioning(Protocol):
    @property
    def constant(self) -> bool: ...

    def first(self) -> int:
        """So many at the beginning."""

    def next(self, minute: int, last: Minute) -> int:
        """So many from the beginning of a minute on, and what the one before it was like."""


@dataclass(frozen=True)
class Fixed:
    count: int
    constant: bool = True

    def first(self) -> int:
        return self.count

    def next(self, minute: int, last: Minute) -> int:
        return self.count


@dataclass(frozen=True)
class Scheduled:
    """From one hour of the day to another so many, otherwise so many; the trace begins at midnight."""

    begin: float
    end: float
    inside: int
    outside: int = 0
    constant: bool = False

    def first(self) -> int:
        return self.next(0, Minute(0, 0))

    def next(self, minute: int, last: Minute) -> int:
        hour = minute % _MINUTES_A_DAY / 60
        over_midnight = self.begin > self.end
        within = (hour >= self.begin or hour < self.end) if over_midnight else self.begin <= hour < self.end
        return self.inside if within else self.outside


class Tracked:
    """Application Auto Scaling's target tracking: three minutes above the target add, fifteen below 90 % take.

    A minute without any use has no data, and an alarm without data takes nothing away: known to surprise people,
    and so it is here.
    """

    constant = False
    _OUT, _IN = 3, 15
    _LOW = 0.9

    def __init__(self, least: int, most: int, target: float = 0.7, *, delay_minutes: int = 1) -> None:
        if not 0 < target <= 1:
            raise UsageError(f"a target of {target:g} is not a utilization: above 0, at most 1")
        if not 1 <= least <= most:
            raise UsageError(
                f"from {least} to {most} cannot be kept ready: at least 1, and not less at most than at least"
            )
        self._least, self._most, self._target = least, most, target
        self._now = least
        self._above = self._below = 0
        #: what was decided and is still being started: minute → count
        self._coming: dict[int, int] = {}
        self._delay = delay_minutes

    def first(self) -> int:
        return self._least

    def next(self, minute: int, last: Minute) -> int:
        self._now = self._coming.pop(minute, self._now)
        used = last.busy / self._now
        if last.peak == 0:
            self._above = self._below = 0
        else:
            self._above = self._above + 1 if used > self._target else 0
            self._below = self._below + 1 if used < self._target * self._LOW else 0
        wanted = min(self._most, max(self._least, math.ceil(self._now * used / self._target)))
        if self._above >= self._OUT and wanted > self._now and not self._coming:
            self._coming[minute + self._delay] = wanted
            self._above = 0
        elif self._below >= self._IN and wanted < self._now and not self._coming:
            self._now = wanted  # taking away is done at once
            self._below = 0
        return self._now
