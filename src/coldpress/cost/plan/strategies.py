"""Ways to run a function: how each is simulated, and what its bill is made of."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from coldpress.cost.bill import (
    SECONDS_A_MONTH,
    Bill,
    LambdaUse,
    lambda_bill,
    managed_bill,
    sagemaker_bill,
    server_bill,
)
from coldpress.cost.book import PriceBook
from coldpress.cost.plan.options import Options, SageMaker, Server
from coldpress.cost.plan.profile import Profile
from coldpress.cost.plan.survey import Survey
from coldpress.cost.simulate import Fleet, Limits, Servers, Times
from coldpress.cost.simulate.fleet import Outcome
from coldpress.cost.simulate.provisioning import Fixed, Provisioning, Scheduled, Tracked
from coldpress.cost.simulate.servers import MOST_SLOTS
from coldpress.errors import UsageError
from coldpress.words import days_text, short

_DAY = 86_400.0
#: by instances that are never more, in the busiest minute
_TURNED_AWAY = 0.0005


@dataclass(frozen=True)
class Strategy:
    name: str
    #: what it rests on beside the measurements
    assumes: str
    begin: Callable[[], Fleet | Servers] = field(repr=False)
    #: a month's bill from what became of the traffic
    bill: Callable[[Outcome], Bill] = field(repr=False)
    #: its durations are nobody's: it is shown, and not recommended
    guessed: bool = False


class Strategies:
    """Makes them for one function and one traffic."""

    def __init__(
        self, profile: Profile, survey: Survey, options: Options, book: PriceBook, functions: int
    ) -> None:
        self._profile, self._survey, self._options, self._book = profile, survey, options, book
        self._functions = functions

    def all(self) -> list[Strategy]:
        size = self._options.memory_mb or self._profile.memory_mb
        if size not in self._profile.times:
            known = ", ".join(map(str, self._profile.times))
            raise UsageError(
                f"{size} MB was not measured; there are: {known} MB. Measure it: bench --sweep --sizes"
            )
        makers: dict[str, Callable[[], list[Strategy]]] = {
            "on-demand": lambda: [self._on_demand(memory) for memory in self._profile.times],
            "arm64": lambda: [self._arm64(size)],
            "provisioned": lambda: [self._provisioned(size)],
            "scheduled": lambda: [self._scheduled(size)],
            "tracked": lambda: [self._tracked(size)],
            "snapstart": lambda: [self._snapstart(size)],
            "sagemaker": lambda: [self._sagemaker()],
            "managed": self._managed,
            "servers": self._servers,
        }
        unknown = [name for name in self._options.only if name not in makers]
        if unknown:
            raise UsageError(f"{unknown[0]!r} is not a strategy; there are: {', '.join(makers)}")
        for name in self._options.only:
            reason = self._unfit(name)
            if reason:
                raise UsageError(f"{name} cannot be planned: {reason}")
        wanted = self._options.only or [name for name in makers if not self._unfit(name)]
        return [strategy for name in wanted for strategy in makers[name]()]

    def _unfit(self, name: str) -> str:
        """Why a strategy would say nothing true here; empty: it would."""
        if name in ("provisioned", "scheduled", "tracked") and self._functions > 1:
            return f"{self._functions:,} functions need different numbers of them; plan one function"
        if name == "scheduled" and self._survey.seconds < _DAY:
            return f"the traffic is of {days_text(self._survey.seconds)}, and hours of the day need a day of it"
        if name == "arm64" and self._profile.arch == "arm64":
            return "it is measured on arm64 as it is: on-demand"
        return ""

    # on Lambda

    def _lambda(
        self,
        name: str,
        memory_mb: int,
        assumes: str,
        *,
        times: Times | None = None,
        limits: Limits | None = None,
        arch: str | None = None,
        provisioning: Callable[[], Provisioning] | None = None,
        snapstart: bool = False,
        guessed: bool = False,
    ) -> Strategy:
        times, limits = times or self._profile.times[memory_mb], limits or self._limits()
        arch = arch or self._profile.arch

        def begin() -> Fleet:
            keeps = provisioning() if provisioning else None
            return Fleet(times, limits, functions=self._functions, provisioning=keeps, seed=self._options.seed)

        def bill(outcome: Outcome) -> Bill:
            month = SECONDS_A_MONTH / outcome.seconds
            use = LambdaUse(
                requests=round(outcome.served * month),
                billed_ms=outcome.billed_ms * month,
                memory_mb=memory_mb,
                arch=arch,
                provisioned=outcome.provisioned_seconds / outcome.seconds,
                provisioned_seconds=SECONDS_A_MONTH,
                provisioned_ms=outcome.provisioned_ms * month,
                snapstart_seconds=SECONDS_A_MONTH * self._functions if snapstart else 0.0,
                restores=round(outcome.cold * month) if snapstart else 0,
            )
            return lambda_bill(use, self._book, free_tier=self._options.free_tier)

        return Strategy(name, assumes, begin, bill, guessed)

    def _limits(self) -> Limits:
        return Limits(
            idle=self._options.idle,
            concurrency=self._options.concurrency,
            scale_up=self._options.scale_up,
            placing_ms=self._options.placing_ms_for(self._profile.package_mb),
        )

    def _on_demand(self, memory_mb: int) -> Strategy:
        return self._lambda(f"Lambda {memory_mb:,} MB", memory_mb, "")

    def _arm64(self, memory_mb: int) -> Strategy:
        said, known = self._options.arm64_factor, self._profile.times[memory_mb]
        factor = 1.0 if said is None else said
        times = replace(
            known,
            warm=[ms * factor for ms in known.warm],
            cold=[(init * factor, ms * factor) for init, ms in known.cold],
            cpu_ms=known.cpu_ms * factor,
        )
        assumes = f"durations × {factor:g}: " + ("arm64 was not measured" if said is None else "as given")
        name = f"Lambda {memory_mb:,} MB arm64"
        return self._lambda(name, memory_mb, assumes, times=times, arch="arm64", guessed=said is None)

    def _ready(self, memory_mb: int) -> int:
        """So many that in the busiest minute one request in a hundred finds none of them free."""
        load = self._survey.busiest / self._functions * self._profile.warm_seconds(memory_mb)
        return self._options.provisioned or enough_slots(load, 0.01)

    def _provisioned(self, memory_mb: int) -> Strategy:
        count = self._ready(memory_mb)
        each = " each" if self._functions > 1 else ""
        name = f"Lambda {memory_mb:,} MB, {count} ready{each}"
        chosen = "" if self._options.provisioned else "; in the busiest minute 1 % find none of them free"
        assumes = "provisioned concurrency" + chosen
        return self._lambda(name, memory_mb, assumes, provisioning=lambda: Fixed(count))

    def _scheduled(self, memory_mb: int) -> Strategy:
        begin, end, count = self._options.schedule or (8.0, 20.0, self._ready(memory_mb))
        name = f"Lambda {memory_mb:,} MB, {count} ready {begin:g}–{end:g} h"
        return self._lambda(
            name,
            memory_mb,
            "provisioned by the clock; the traffic begins at midnight",
            provisioning=lambda: Scheduled(begin, end, count),
        )

    def _tracked(self, memory_mb: int) -> Strategy:
        least, most, target = self._options.autoscale or (1, 2 * self._ready(memory_mb), 0.7)
        name = f"Lambda {memory_mb:,} MB, {least}–{most} ready, {target:.0%}"
        assumes = "provisioned as they are used: alarms of 3 and 15 minutes, new ones ready a minute later"
        return self._lambda(name, memory_mb, assumes, provisioning=lambda: Tracked(least, most, target))

    def _snapstart(self, memory_mb: int) -> Strategy:
        """Restored instead of started: its time is said, not measured, and paid by its own fees."""
        known, said = self._profile.times[memory_mb], self._options.restore_ms
        restore = 200.0 if said is None else said
        limits = replace(self._limits(), placing_ms=0.0, init_billed=False)
        return self._lambda(
            f"Lambda {memory_mb:,} MB, SnapStart",
            memory_mb,
            f"a restore takes {restore:g} ms: " + ("not measured" if said is None else "as given"),
            times=replace(known, cold=[(restore, ms) for _, ms in known.cold]),
            limits=limits,
            snapstart=True,
            guessed=said is None,
        )

    # elsewhere

    def _sagemaker(self) -> Strategy:
        taken = self._options.sagemaker
        times = Times([taken.ms], [(taken.cold_ms, taken.ms)])
        concurrency = min(taken.concurrency * self._functions, self._options.concurrency)
        limits = Limits(idle=self._options.idle, concurrency=concurrency, scale_up=self._options.scale_up)

        def begin() -> Fleet:
            return Fleet(times, limits, functions=self._functions, seed=self._options.seed)

        def bill(outcome: Outcome) -> Bill:
            month = SECONDS_A_MONTH / outcome.seconds
            return sagemaker_bill(
                self._book,
                seconds=outcome.billed_ms / 1000 * month,
                memory_gb=taken.memory_gb,
                bytes_in_out=self._options.bytes_in_out * outcome.served * month,
            )

        name = f"SageMaker Serverless {taken.memory_gb:g} GB"
        return Strategy(name, taken.source, begin, bill, guessed=taken == SageMaker())

    def _managed(self) -> list[Strategy]:
        kind = self._options.managed_for(self._profile.arch)
        vcpus = self._vcpus(kind)
        rate = self._profile.throughput * vcpus
        least = self._options.managed_least
        load = self._survey.busiest / self._profile.throughput
        count = max(least, math.ceil(enough_slots(load, _TURNED_AWAY) / vcpus))
        service = [1000 / self._profile.throughput]

        def bill(outcome: Outcome) -> Bill:
            month = SECONDS_A_MONTH / outcome.seconds
            return managed_bill(
                self._book, kind, servers=count, hours=SECONDS_A_MONTH / 3600, requests=outcome.served * month
            )

        assumes = (
            f"{short(rate)} a second each: {self._core(vcpus)}; {least} at least; "
            f"{_TURNED_AWAY:.2%} turned away in the busiest minute"
        )
        return [
            Strategy(
                f"Managed Instances {count} × {kind}",
                assumes,
                lambda: Servers(service, count * vcpus, queue=False, seed=self._options.seed),
                bill,
            )
        ]

    def _servers(self) -> list[Strategy]:
        made = [self._server(server) for server in self._options.servers]
        for kind in self._options.own_servers_for(self._profile.arch):
            vcpus = self._vcpus(kind)
            rate, ms = self._profile.throughput * vcpus, 1000 / self._profile.throughput
            made.append(self._server(Server(kind, rate, self._core(vcpus), ms)))
        return made

    def _vcpus(self, kind: str) -> int:
        return round(self._book.ec2_shapes[kind].vcpus)

    def _core(self, vcpus: int) -> str:
        """Where the throughput of a server that runs this very function is from."""
        return f"{short(self._profile.throughput)} on one core × {vcpus} vCPUs"

    def _server(self, server: Server) -> Strategy:
        """As many that the busiest minute does not fill them more than said."""
        count = max(1, math.ceil(self._survey.busiest / (server.rate * self._options.utilization)))
        slots = 1 if server.ms is None else max(1, round(server.rate * server.ms / 1000))
        terms = self._options.terms
        if self._survey.busiest / server.rate * slots > MOST_SLOTS / 2:
            raise UsageError(
                f"{count:,} × {server.kind} would be needed, at {server.rate:g} a second each: "
                f"too many to simulate"
            )

        def bill(outcome: Outcome) -> Bill:
            hours = SECONDS_A_MONTH / 3600
            return server_bill(self._book, server.kind, servers=count, hours=hours, terms=terms)

        alone = "; taken to do one after the other" if server.ms is None else ""
        rented = terms.removesuffix("_hour").replace("_", " ")
        return Strategy(
            f"EC2 {count} × {server.kind}",
            f"{short(server.rate)} a second each: {server.source}{alone}; {rented}",
            lambda: Servers([slots / server.rate * 1000], count * slots, seed=self._options.seed),
            bill,
            guessed=server.ms is None,
        )


def enough_slots(load: float, share: float) -> int:
    """The fewest slots of which a share of the requests finds none free, by Erlang's formula."""
    blocked, slots = 1.0, 0
    while blocked > share:
        slots += 1
        blocked = load * blocked / (slots + load * blocked)
    return max(1, slots)
