"""How many sandboxes are kept ready, when that changes by itself: by use, or by the clock."""

import re
from dataclasses import dataclass

from coldpress.errors import UsageError

_RANGE = re.compile(r"(\d{1,5}):(\d{1,5})")
_SHARE = re.compile(r"(\d{1,3})%|(0?\.\d{1,3})")
#: what Application Auto Scaling takes of Lambda's utilization
_LEAST_TARGET, _MOST_TARGET = 0.1, 0.9
_WHEN = re.compile(r"(?:cron|rate|at)\([^()]{1,120}\)")
_ZONE = re.compile(r"[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+){0,2}")


@dataclass(frozen=True)
class Range:
    least: int
    most: int

    def __str__(self) -> str:
        return f"{self.least}:{self.most}"


@dataclass(frozen=True)
class Autoscale:
    """As many as keep this share of them busy."""

    range: Range
    target: float

    @classmethod
    def parse(cls, text: str) -> "Autoscale":
        """MIN:MAX@TARGET, as 1:10@70%."""
        size, at, share = text.partition("@")
        found = _SHARE.fullmatch(share)
        if not at or not found:
            raise UsageError(f"--autoscale {text!r} is not of the form MIN:MAX@TARGET, as 1:10@70%")
        target = int(found[1]) / 100 if found[1] else float(found[2])
        if not _LEAST_TARGET <= target <= _MOST_TARGET:
            raise UsageError(
                f"--autoscale {text!r} is to keep {target:.0%} of them busy; it can be from "
                f"{_LEAST_TARGET:.0%} to {_MOST_TARGET:.0%}"
            )
        return cls(_range("--autoscale", text, size), target)


@dataclass(frozen=True)
class Schedule:
    """From a time on, other bounds."""

    #: as AWS writes it: cron(0 8 ? * MON-FRI *), at(2026-12-24T18:00:00), rate(1 day)
    when: str
    range: Range
    zone: str = "UTC"

    @classmethod
    def parse(cls, text: str) -> "Schedule":
        """WHEN=MIN:MAX or WHEN@ZONE=MIN:MAX, as cron(0 8 ? * MON-FRI *)@Europe/Berlin=5:20."""
        said, equals, size = text.rpartition("=")
        when, at, zone = said.partition("@")
        if not equals or not _WHEN.fullmatch(when) or (at and not _ZONE.fullmatch(zone)):
            raise UsageError(
                f"--schedule {text!r} is not of the form WHEN=MIN:MAX, as 'cron(0 8 ? * MON-FRI *)=5:20' or "
                f"'cron(0 8 ? * MON-FRI *)@Europe/Berlin=5:20'"
            )
        return cls(when, _range("--schedule", text, size), zone or "UTC")

    def __str__(self) -> str:
        return f"{self.range} from {self.when} {self.zone}"


def _range(flag: str, text: str, size: str) -> Range:
    found = _RANGE.fullmatch(size)
    if not found or int(found[1]) > int(found[2]) or int(found[2]) < 1:
        raise UsageError(f"{flag} {text!r} has the bounds {size!r}; they are MIN:MAX, as 1:10")
    return Range(int(found[1]), int(found[2]))
