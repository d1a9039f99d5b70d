"""The samples of one function at one memory size, as they come in."""

from collections.abc import Mapping
from statistics import fmean

from coldpress.bench.lab import Lab, Shot
from coldpress.bench.result import Percentiles, Warm
from coldpress.cost.bill import LambdaUse, lambda_bill
from coldpress.cost.book import price_book

_MILLION = 1_000_000
#: for a throughput: whichever comes first
_SECONDS, _REQUESTS = 1.0, 300
#: the same for each of many sizes: some twenty of their periods
_SUSTAINED = (0.4, 100)


class Tally:
    def __init__(self, lab: Lab, events: Mapping[str, bytes]) -> None:
        self._lab = lab
        self._events = events
        self.memory_mb = lab.memory_mb
        self.cold_ms: list[float] = []
        self.init_ms: list[float] = []
        self.warm: dict[str, list[float]] = {name: [] for name in events}
        self.throughput: dict[str, float] = {}
        self.peak_mb = 0.0
        self._cold_billed: list[float] = []

    def start(self, name: str) -> None:
        """Ask a sandbox that there was not before."""
        self._lab.renew()
        shot = self._noted(self._lab.ask(self._events[name]))
        assert shot.cold_ms is not None
        assert shot.init_ms is not None
        self.cold_ms.append(round(shot.cold_ms, 3))
        self.init_ms.append(round(shot.init_ms, 3))
        self._cold_billed.append(whole_ms(shot.init_ms + shot.duration_ms))

    def warm_up(self, name: str) -> None:
        """Ask once, and do not count it."""
        self._noted(self._lab.ask(self._events[name]))

    def ask(self, name: str) -> None:
        self.warm[name].append(round(self._noted(self._lab.ask(self._events[name])).duration_ms, 3))

    def warm_of(self, name: str, request: str) -> Warm:
        event, ms = self._events[name], self.warm[name]
        rate = self._lab.ask_on_and_on(event, _SECONDS, _REQUESTS)
        return Warm(request, len(event), ms, Percentiles.of(ms), round(rate, 2))

    def sustain(self, name: str) -> None:
        self.throughput[name] = round(self._lab.ask_on_and_on(self._events[name], *_SUSTAINED), 2)

    def billed_ms(self, name: str) -> float:
        return round(fmean(map(whole_ms, self.warm[name])), 3)

    @property
    def cold_billed_ms(self) -> float:
        return round(fmean(self._cold_billed), 3)

    def _noted(self, shot: Shot) -> Shot:
        self.peak_mb = max(self.peak_mb, round(shot.peak_mb, 1))
        return shot


def whole_ms(ms: float) -> float:
    """As it is billed: every started millisecond."""
    return -(-ms // 1)


def cost_of_million(billed_ms: float, memory_mb: int, arch: str) -> float:
    """Dollars for a million requests of so many billed milliseconds each, on the mean; no free tier."""
    return lambda_bill(LambdaUse(_MILLION, billed_ms * _MILLION, memory_mb, arch), price_book()).dollars
