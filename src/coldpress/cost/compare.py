"""One table: what the same traffic costs as a function, on SageMaker Serverless and on a server of one's own."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from statistics import mean, median

from coldpress.cost.bill import (
    SECONDS_A_MONTH,
    Bill,
    LambdaUse,
    lambda_bill,
    sagemaker_bill,
    server_bill,
)
from coldpress.cost.book import PriceBook
from coldpress.cost.simulate import Fleet, Limits, Times
from coldpress.cost.simulate.patterns import DAY, Pattern
from coldpress.errors import UsageError

_MILLION = 1_000_000
MOST_RATE = 1e5
#: so many are simulated, and for so long at least and at most
_REQUESTS, _SHORTEST, _LONGEST = 100_000, 300.0, 3650 * DAY


@dataclass(frozen=True)
class Work:
    """What one request takes, somewhere."""

    name: str
    ms: float
    memory_mb: int
    cold_ms: float
    arch: str = "x86_64"
    #: where the figures are from: measured here, or assumed, and by whom
    source: str = ""
    #: every duration that was measured, where there is more than one
    measured: Times | None = None
    #: before an init, in no metric and not billed
    placing_ms: float = 0.0

    @property
    def times(self) -> Times:
        return self.measured or Times([self.ms], [(self.cold_ms, self.ms)])

    @property
    def first_answer_ms(self) -> float:
        """What people call a cold start: with the first answer where that was measured."""
        return median(sum(pair) for pair in self.measured.cold) if self.measured else self.cold_ms


#: the table that people know, and what it assumes
CLASSIC_LAMBDA = Work("Lambda, a classic handler", 200, 3584, 500, source="assumed: 3.5 GB for 200 ms")
CLASSIC_SAGEMAKER = Work("SageMaker Serverless", 560, 4096, 2000, source="assumed: 4 GB for 560 ms")


@dataclass(frozen=True)
class Assumptions:
    """All that a comparison rests on beside measurements; each can be set, and is printed."""

    #: requests a second, all month, of independent people
    rate: float = 1.0
    #: the share of requests that start a sandbox; None: as the rate makes it, by simulation
    cold_share: float | None = None
    #: seconds that a sandbox is kept without work
    idle: float = 300.0
    free_tier: bool = False
    #: bytes of a request and its answer, which SageMaker Serverless is paid for
    bytes_in_out: int = 10_000
    server: str = "g4dn.xlarge"
    terms: str = "on_demand_hour"
    #: requests a second that one server can do; no figure is true for every model, so it must be said
    server_rate: float | None = None
    #: how full servers are
    utilization: float = 0.7
    sagemaker: Work = CLASSIC_SAGEMAKER


@dataclass(frozen=True)
class Row:
    name: str
    per_million: float
    per_month: float
    cold_ms: float | None
    #: None where nothing is known of it
    p99_ms: float | None
    cold_share: float
    #: requests a second from which on one server would cost less; None where it does not, or cannot do as many
    server_wins_at: float | None
    bill: Bill
    source: str


def compare(ours: Sequence[Work], assumed: Assumptions, book: PriceBook) -> list[Row]:
    """A row for each way to run it, the classic ones first."""
    _check(assumed, book)
    requests = assumed.rate * SECONDS_A_MONTH
    server = _one_server(assumed, book)
    rows = [_server_row(server, requests, assumed)]
    for work in (CLASSIC_LAMBDA, assumed.sagemaker, *ours):
        played = _played(work, assumed)
        bill = _bill(work, played, assumed, book)
        rows.append(
            Row(
                work.name,
                bill.dollars / requests * _MILLION,
                bill.dollars,
                work.first_answer_ms,
                played.p99_ms,
                played.cold_share,
                _server_wins(work, server.dollars, assumed, book),
                bill,
                work.source,
            )
        )
    return rows


def monthly(work: Work, assumed: Assumptions, book: PriceBook) -> float:
    """Dollars for one work at one rate, and nothing else about it."""
    return _bill(work, _played(work, assumed), assumed, book).dollars


@dataclass(frozen=True)
class _Played:
    """What a work's requests are like at one rate: the mean of what is billed for one, and the slowest."""

    billed_ms: float
    p99_ms: float
    cold_share: float


def _played(work: Work, assumed: Assumptions) -> _Played:
    if assumed.cold_share is not None:
        return _mixed(work, assumed.cold_share)
    limits = Limits(idle=assumed.idle, concurrency=1_000_000, scale_up=1_000_000_000, placing_ms=work.placing_ms)
    fleet = Fleet(work.times, limits)
    seconds = min(max(_REQUESTS / assumed.rate, _SHORTEST), _LONGEST)
    for chunk in Pattern("steady", assumed.rate, seconds).chunks():
        fleet.run(chunk)
    outcome = fleet.outcome()
    return _Played(outcome.billed_ms / max(1, outcome.served), outcome.p99_ms, outcome.cold_share)


def _mixed(work: Work, share: float) -> _Played:
    """So many cold ones among the warm, as somebody says."""
    warm, cold = work.times.warm, work.times.cold
    billed = (1 - share) * mean(-(-ms // 1) for ms in warm) + share * mean(-(-sum(pair) // 1) for pair in cold)
    weighed = [(ms, (1 - share) / len(warm)) for ms in warm]
    weighed += [(work.placing_ms + sum(pair), share / len(cold)) for pair in cold]
    weighed.sort()
    reached = accumulate(weight for _, weight in weighed)
    p99 = next(
        (ms for (ms, _), share_so_far in zip(weighed, reached, strict=True) if share_so_far >= 0.99),
        weighed[-1][0],
    )
    return _Played(billed, p99, share)


def _bill(work: Work, played: _Played, assumed: Assumptions, book: PriceBook) -> Bill:
    requests = assumed.rate * SECONDS_A_MONTH
    if work is assumed.sagemaker:
        seconds, moved = played.billed_ms / 1000 * requests, assumed.bytes_in_out * requests
        return sagemaker_bill(book, seconds=seconds, memory_gb=work.memory_mb / 1024, bytes_in_out=moved)
    use = LambdaUse(round(requests), played.billed_ms * requests, work.memory_mb, work.arch)
    return lambda_bill(use, book, free_tier=assumed.free_tier)


def server_month(assumed: Assumptions, book: PriceBook) -> float:
    return _servers(assumed)[0] * _one_server(assumed, book).dollars


def _one_server(assumed: Assumptions, book: PriceBook) -> Bill:
    return server_bill(book, assumed.server, servers=1, hours=SECONDS_A_MONTH / 3600, terms=assumed.terms)


def _servers(assumed: Assumptions) -> tuple[int, str]:
    """As many as the rate takes, if it is known what one does; and their name."""
    count = 1
    if assumed.server_rate is not None:
        count = max(1, math.ceil(assumed.rate / (assumed.server_rate * assumed.utilization)))
    return count, f"EC2 {assumed.server}" + (f" × {count}" if count > 1 else "")


def _server_row(server: Bill, requests: float, assumed: Assumptions) -> Row:
    """How long a server takes is not known."""
    count, name = _servers(assumed)
    bill = replace(server, lines=[replace(line, dollars=line.dollars * count) for line in server.lines])
    source = f"{assumed.terms.removesuffix('_hour').replace('_', ' ')}, running all month"
    return Row(name, bill.dollars / requests * _MILLION, bill.dollars, None, None, 0.0, None, bill, source)


def _server_wins(work: Work, server: float, assumed: Assumptions, book: PriceBook) -> float | None:
    """From how many requests a second on one server costs less, if it can do as many.

    What a request costs depends a little on the rate, by its cold starts: a few steps find the rate that fits.
    """
    most = MOST_RATE if assumed.server_rate is None else assumed.server_rate * assumed.utilization
    rate = 1.0
    for _ in range(20):
        there = replace(assumed, rate=rate)
        dollars = monthly(work, there, book)
        after = min(max(rate * server / dollars if dollars else rate * 10, 1e-6), MOST_RATE)
        if abs(after / rate - 1) < 0.002:
            break
        rate = after
    return rate if rate < most else None


def _check(assumed: Assumptions, book: PriceBook) -> None:
    if not 1e-6 <= assumed.rate <= MOST_RATE:
        raise UsageError(f"--rate {assumed.rate:g} is not a number of requests a second from 0.000001 to 100,000")
    if assumed.cold_share is not None and not 0 <= assumed.cold_share <= 1:
        raise UsageError(f"--cold-share {assumed.cold_share:g} is not a share between 0 and 1")
    if not 0 < assumed.idle <= DAY:
        raise UsageError(f"--idle {assumed.idle:g} is not a number of seconds up to a day")
    if assumed.server_rate is not None and not 0 < assumed.server_rate < 1e9:
        raise UsageError(f"--server-rate {assumed.server_rate:g} is not above 0 requests a second")
    book.ec2[assumed.server][assumed.terms]
