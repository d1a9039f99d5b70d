"""How traffic looks on a terminal: while it runs, and what came of it."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from coldpress.traffic import Traffic
from coldpress.traffic.send import Moment, Watch
from coldpress.traffic.summary import Percentiles, Summary

#: seconds between two lines where there is no terminal to draw on
_LINE_EVERY = 5.0
_ERRORS = {
    "status": "answered with an error's status",
    "throttled": "throttled (429)",
    "function": "the function's own errors",
    "timeout": "timed out",
    "connection": "connection failed",
    "unsent": "not sent: no connection came free",
}


@contextmanager
def watching(console: Console) -> Iterator[Watch]:
    """A table that changes in place; where stderr is no terminal, a line every few seconds."""
    if console.is_terminal:
        with Live(console=console, auto_refresh=False, transient=True) as live:
            yield lambda moment: live.update(_moment_table(moment), refresh=True)
        return
    said = 0.0

    def say(moment: Moment) -> None:
        nonlocal said
        if moment.seconds - said >= _LINE_EVERY:
            said = moment.seconds
            pairs = ", ".join(f"{name} {value}" for name, value in _moment_cells(moment).items())
            console.print(pairs, highlight=False, soft_wrap=True)

    yield say


def _moment_cells(moment: Moment) -> dict[str, str]:
    return {
        "time": f"{moment.seconds:.0f} s",
        "sent": f"{moment.sent:,}",
        "ended": f"{moment.ended:,}",
        "a second": f"{moment.rate:,.1f}",
        "in flight": f"{moment.in_flight:,}",
        "errors": f"{moment.errors:,}",
        "cold": "not told" if moment.cold is None else f"{moment.cold:,}",
        "p50 ms": _ms(moment.p50_ms),
        "p99 ms": _ms(moment.p99_ms),
    }


def _moment_table(moment: Moment) -> Table:
    cells = _moment_cells(moment)
    table = Table()
    for name in cells:
        table.add_column(name, justify="right", style="red" if name == "errors" and moment.errors else None)
    table.add_row(*cells.values())
    return table


def summary_table(traffic: Traffic) -> Group:
    """Percentiles, counts, and what to mind when reading them."""
    return Group(_percentiles_table(traffic), _counts_table(traffic.summary), *_notes(traffic.summary))


def _percentiles_table(traffic: Traffic) -> Table:
    summary, cold = traffic.summary, traffic.summary.cold
    table = Table(title=f"{traffic.url}: {traffic.plan}", title_justify="left")
    table.add_column("ms")
    for heading in ("p50", "p90", "p95", "p99", "p99.9", "max"):
        table.add_column(heading, justify="right")
    _add(table, "latency, from the scheduled time", summary.latency_ms, style="bold green")
    _add(table, "service, from the actual sending", summary.service_ms)
    _add(table, "the function's own duration", summary.duration_ms)
    if cold is not None:
        _add(table, "latency of cold starts", cold.latency_ms)
        _add(table, "their init", cold.init_ms)
    return table


def _add(table: Table, name: str, figures: Percentiles | None, style: str | None = None) -> None:
    if figures is not None:
        cells = (figures.p50, figures.p90, figures.p95, figures.p99, figures.p999, figures.max)
        table.add_row(name, *map(_ms, cells), style=style)


def _counts_table(summary: Summary) -> Table:
    table = Table(show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_row("scheduled", f"{summary.scheduled:,}", f"{summary.offered_rate:,.1f} a second")
    table.add_row("answered well", f"{summary.good:,}", f"{summary.achieved_rate:,.1f} a second")
    for kind, words in _ERRORS.items():
        if summary.errors[kind]:
            share = f"{100 * summary.errors[kind] / summary.scheduled:.2f} %"
            table.add_row(words, f"{summary.errors[kind]:,}", share, style="red")
            if kind == "status":
                for status, number in summary.statuses.items():
                    if status != "429" and not status.startswith("2"):
                        table.add_row(f"  {status}", f"{number:,}", "", style="red")
    for problem, number in summary.problems.items():
        table.add_row(f"  {problem}", f"{number:,}", "", style="red")
    if summary.unfinished:
        table.add_row("still under way", f"{summary.unfinished:,}", "")
    if summary.cold is None:
        table.add_row("cold starts", "not told", "")
    else:
        table.add_row("cold starts", f"{summary.cold.count:,}", f"{100 * summary.cold.share:.2f} %")
    if summary.billed_ms is not None:
        table.add_row("billed", f"{summary.billed_ms:,.0f} ms", "")
    table.add_row("bytes", f"{summary.bytes_sent:,} sent", f"{summary.bytes_received:,} received")
    return table


def _notes(summary: Summary) -> Iterator[Text]:
    sender, many = summary.sender, max(1, summary.scheduled - summary.unfinished)
    if summary.interrupted:
        yield Text(f"interrupted after {summary.seconds:.1f} s: the figures cover what had ended by then")
    if sender.late and not sender.on_time:
        worst = sender.lag_ms.max if sender.lag_ms else 0.0
        yield Text(
            f"the sender was late: {100 * sender.late / many:.1f} % of requests left more than "
            f"{sender.late_over_ms:g} ms after their time, the latest {worst:,.0f} ms. Part of the latency is its "
            "own: lower the rate, or send from a machine with more room",
            style="yellow",
        )
    if sender.waited:
        yield Text(
            f"{sender.waited:,} requests waited until one of the connections came free, so the server saw fewer "
            "at once than were due: raise --connections if that is not meant",
            style="yellow",
        )
    if summary.errors["timeout"] or summary.errors["unsent"]:
        yield Text("percentiles count what was given up on with the time until then; it would have taken longer")


def _ms(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.2f}" if value < 10 else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"
