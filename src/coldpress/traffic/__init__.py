"""Traffic: requests sent to a function at times fixed beforehand, and what became of them.

The loop is open. A sender that waits for an answer before it asks again asks less while the server is stuck, and
so leaves out those requests that would have been slow. Here each has its time, and its latency counts from it.
"""

import asyncio
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from coldpress.errors import UsageError
from coldpress.traffic.address import head, read_url
from coldpress.traffic.loop import allow_files, new_loop
from coldpress.traffic.plan import Plan, of_rate, of_trace
from coldpress.traffic.rows import Rows
from coldpress.traffic.send import Sender, Watch
from coldpress.traffic.summary import Summary, summarize


@dataclass(frozen=True)
class Traffic:
    """What was sent where, every request, and the figures."""

    url: str
    #: what was asked for, in words
    plan: str
    rows: Rows
    summary: Summary

    def as_json(self) -> dict[str, Any]:
        return {"url": self.url, "plan": self.plan, **asdict(self.summary)}


def send_traffic(
    url: str,
    *,
    rate: float | None = None,
    duration: float | None = None,
    trace: Path | None = None,
    speed: float = 1.0,
    poisson: bool = True,
    seed: int = 0,
    body: bytes = b"{}",
    kind: str = "application/json",
    headers: tuple[str, ...] = (),
    connections: int = 256,
    timeout: float = 30.0,
    watch: Watch | None = None,
) -> Traffic:
    """Send `rate` requests a second for `duration` seconds, or those of a `trace` at `speed` times its own.

    Ctrl-C ends it early: the result then covers what was sent until then, and says so. `timeout` counts from the
    scheduled time, as latency does.
    """
    address = read_url(url)
    if connections < 1 or not timeout > 0:
        raise UsageError(f"{connections} connections and a time-out of {timeout:g} s: both must be above 0")
    beginning = head(address, kind, headers)
    plan = _plan(rate, duration, trace, speed, poisson, seed)
    allow_files(connections)

    async def run() -> Sender:
        sender = Sender(address, beginning, body, connections, timeout)
        await sender.run(plan.arrivals, watch)
        return sender

    with asyncio.Runner(loop_factory=new_loop) as runner:
        done = runner.run(run())
    summary = summarize(
        done.rows,
        sent=done.sent,
        seconds=done.seconds,
        planned=plan.seconds,
        interrupted=done.interrupted,
        bytes_sent=done.pool.sent,
        bytes_received=done.pool.received,
    )
    return Traffic(url, plan.words, done.rows, summary)


def _plan(
    rate: float | None, duration: float | None, trace: Path | None, speed: float, poisson: bool, seed: int
) -> Plan:
    if trace is not None:
        if rate is not None or duration is not None:
            raise UsageError("a trace has its own times: leave out --rate and --duration, or --trace")
        return of_trace(trace, speed, scatter=poisson, seed=seed)
    if rate is None or duration is None:
        raise UsageError("say what to send: --rate 50 --duration 30s, or --trace FILE")
    if speed != 1:
        raise UsageError(f"--speed {speed:g} is for a --trace; say --rate {rate * speed:g} instead")
    return of_rate(rate, duration, scatter=poisson, seed=seed)
