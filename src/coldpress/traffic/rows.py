"""Every request that ended, in columns of plain numbers: forty bytes each, so that a day of traffic fits."""

import math
from array import array
from collections import Counter
from collections.abc import Iterator
from enum import IntEnum

from coldpress.traffic.answer import NOTHING, Start, Told

#: different words for why a connection failed that are kept apart; a message may hold a number that varies
_MOST_PROBLEMS = 20


class Kind(IntEnum):
    """How a request ended."""

    GOOD = 0
    #: anything but 2xx
    STATUS = 1
    THROTTLED = 2
    #: answered, and the answer is the function's error
    FUNCTION = 3
    TIMEOUT = 4
    CONNECTION = 5
    #: no connection came free in time: the sender's limit, not the server's
    UNSENT = 6


class Rows:
    """Columns in the order in which requests ended, and counts that are cheap to ask for meanwhile."""

    def __init__(self) -> None:
        #: seconds from the start to when it was to be sent
        self.at = array("d")
        #: milliseconds from then until it was sent, and until it ended
        self.lag_ms = array("d")
        self.latency_ms = array("d")
        self.kind = array("B")
        self.status = array("H")
        #: whether it waited for a free connection
        self.waited = array("B")
        self.start = array("B")
        self.init_ms = array("f")
        self.duration_ms = array("f")
        self.billed_ms = array("f")
        self.kinds = Counter[Kind]()
        self.starts = Counter[Start]()
        self.problems = Counter[str]()

    def __len__(self) -> int:
        return len(self.at)

    @property
    def errors(self) -> int:
        return len(self) - self.kinds[Kind.GOOD]

    def add(
        self,
        at: float,
        lag_ms: float,
        latency_ms: float,
        kind: Kind,
        *,
        status: int = 0,
        waited: bool = False,
        told: Told = NOTHING,
        problem: str = "",
    ) -> None:
        self.at.append(at)
        self.lag_ms.append(lag_ms)
        self.latency_ms.append(latency_ms)
        self.kind.append(kind)
        self.status.append(status)
        self.waited.append(waited)
        self.start.append(told.start)
        self.init_ms.append(told.init_ms)
        self.duration_ms.append(told.duration_ms)
        self.billed_ms.append(told.billed_ms)
        self.kinds[kind] += 1
        self.starts[told.start] += 1
        if problem:
            known = problem in self.problems or len(self.problems) < _MOST_PROBLEMS
            self.problems[problem if known else "others"] += 1

    def timed(self) -> Iterator[int]:
        """Rows whose latency says something: good ones, and those given up on, with the time that it took.

        A quick refusal would flatter the percentiles, and so would leaving out what never came.
        """
        telling = (Kind.GOOD, Kind.TIMEOUT, Kind.UNSENT)
        return (row for row, kind in enumerate(self.kind) if kind in telling)

    def service_ms(self, row: int) -> float:
        """From when it was sent; not a number if it never was."""
        return math.nan if self.kind[row] == Kind.UNSENT else self.latency_ms[row] - self.lag_ms[row]
