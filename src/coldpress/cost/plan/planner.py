"""Play the traffic to every strategy at once, and say which is the cheapest that is good enough."""

from array import array
from dataclasses import dataclass

from coldpress.cost.bill import SECONDS_A_MONTH, Bill
from coldpress.cost.book import PriceBook
from coldpress.cost.plan.options import Options
from coldpress.cost.plan.profile import Profile
from coldpress.cost.plan.strategies import Strategies
from coldpress.cost.plan.survey import Done, Survey, Traffic, survey
from coldpress.cost.simulate.arrivals import Chunk
from coldpress.cost.simulate.fleet import Outcome
from coldpress.words import ms_text

_MILLION = 1_000_000
#: who loses more than this has no service to speak of
_MOST_THROTTLED = 0.001


@dataclass(frozen=True)
class Planned:
    name: str
    assumes: str
    outcome: Outcome
    #: of a month with traffic like this
    bill: Bill
    #: what of the objective it misses; empty: nothing
    misses: tuple[str, ...]
    #: its durations are not measured and not given
    guessed: bool = False

    @property
    def dollars(self) -> float:
        return self.bill.dollars

    @property
    def per_million(self) -> float:
        month = self.outcome.served * SECONDS_A_MONTH / self.outcome.seconds
        return self.dollars / month * _MILLION if month else 0.0


@dataclass(frozen=True)
class Plan:
    traffic: str
    survey: Survey
    rows: list[Planned]
    slo: dict[str, float]
    source: str

    @property
    def best(self) -> Planned | None:
        """The cheapest that meets the objective, of those whose durations are known."""
        good = [row for row in self.rows if not row.misses and not row.guessed]
        return min(good, key=lambda row: row.dollars, default=None)


def make_plan(
    profile: Profile,
    traffic: Traffic,
    options: Options,
    book: PriceBook,
    slo: dict[str, float] | None = None,
    done: Done = lambda _: None,
) -> Plan:
    """`done` hears how far it is: a survey first, then the simulation."""
    slo = {"throttled": _MOST_THROTTLED} | (slo or {})
    first = 0.1
    seen = survey(traffic, lambda share: done(first * share))
    strategies = Strategies(profile, seen, options, book, traffic.functions).all()
    simulated = [strategy.begin() for strategy in strategies]
    for chunk in traffic.chunks(lambda share: done(first + (1 - first) * share)):
        for one in simulated:
            one.run(chunk)
    rows = []
    for strategy, one in zip(strategies, simulated, strict=True):
        one.run(Chunk(array("d"), seen.seconds))  # a minute at least, though the last request came before
        outcome = one.outcome()
        bill, misses = strategy.bill(outcome), tuple(missed(outcome, slo))
        rows.append(Planned(strategy.name, strategy.assumes, outcome, bill, misses, strategy.guessed))
    return Plan(traffic.what, seen, rows, slo, profile.source)


def missed(outcome: Outcome, slo: dict[str, float]) -> list[str]:
    """What of an objective was not met, in words."""
    found = []
    for name, limit in slo.items():
        if name == "cold":
            value, text = outcome.cold_share, "{:.2%} cold"
        elif name == "throttled":
            value, text = outcome.throttled / max(1, outcome.requests), "{:.2%} throttled"
        else:
            value, text = (
                float(getattr(outcome, f"{name}_ms")),
                f"{name} {ms_text(getattr(outcome, f'{name}_ms'))}",
            )
        if not value <= limit:  # also what is not a number
            found.append(text.format(value))
    return found
