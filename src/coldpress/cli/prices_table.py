"""How costs and prices look on a terminal."""

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from coldpress.cost.book import PriceBook
from coldpress.cost.compare import Assumptions, Row, Work
from coldpress.cost.figures import all_prices
from coldpress.cost.plan.words import borrowed_text
from coldpress.words import ms_text, rate_text

if TYPE_CHECKING:
    from coldpress.cost.refresh.page import Refreshed


def comparison_table(rows: list[Row], rate: float, ours: int) -> Table:
    table = Table(title=f"{rate:g} requests a second, all month", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("")
    for heading in ("$/million", "$/month", "cold start", "p99", "a server wins"):
        table.add_column(heading, justify="right")
    table.add_column("figures", style="dim")
    for row in rows:
        wins = "never" if row.server_wins_at is None else f"from {rate_text(row.server_wins_at)}"
        table.add_row(
            row.name,
            f"{row.per_million:,.2f}",
            f"{row.per_month:,.2f}",
            "none" if row.cold_ms is None else ms_text(row.cold_ms),
            "?" if row.p99_ms is None else ms_text(row.p99_ms),
            "" if row.cold_ms is None else wins,
            row.source,
        )
    for ours_too in table.rows[len(rows) - ours :]:
        ours_too.style = "bold green"
    return table


def assumptions_text(ours: Work, assumed: Assumptions, book: PriceBook) -> str:
    """Everything that the table rests on, in words."""
    does = "nobody said what a server can do: one is taken to do any rate, and its p99 is not known"
    if assumed.server_rate is not None:
        does = f"a server does {assumed.server_rate:g} a second, {assumed.utilization:.0%} of which it is given"
    cold = f"a request that finds no sandbox free, each kept for {assumed.idle:g} s, starts one (simulated)"
    if assumed.cold_share is not None:
        cold = f"{assumed.cold_share:.1%} of requests start a sandbox"
    free = "with the free tier" if assumed.free_tier else "without the free tier"
    dates = sorted(price.date for price in all_prices(book).values())
    borrowed = borrowed_text(book)
    return (
        f"Assumed: {cold}, and its init is billed; {ours.placing_ms:,.0f} ms before an init, "
        f"which no metric has; {free}; "
        f"{assumed.bytes_in_out:,} bytes in and out; {does}. Prices of {book.name}, {dates[0]}"
        f"{'' if dates[0] == dates[-1] else ' to ' + dates[-1]}: coldpress prices."
        + (f" {borrowed}." if borrowed else "")
    )


def prices_table(book: PriceBook) -> Table:
    """Every figure, and below them their sources by number; one that is another region's is marked."""
    table = Table(title=f"{book.name}, {book.region}: {book.place}", title_justify="left", caption_justify="left")
    table.add_column("")
    table.add_column("$", justify="right")
    for heading in ("unit", "date", "source"):
        table.add_column(heading)
    sources: dict[str, int] = {}
    for name, price in all_prices(book).items():
        source = f"{price.source} ({price.note})" if price.note else price.source
        number = sources.setdefault(source, len(sources) + 1)
        borrowed = f", as {price.like}" if price.like else ""
        style = "yellow" if price.like else None
        table.add_row(name, plain(price.value), price.unit, price.date, f"{number}{borrowed}", style=style)
    table.caption = Text("\n".join(f"{number}  {source}" for source, number in sources.items()), style="dim")
    return table


def changes_table(outcome: "Refreshed") -> Table:
    table = Table(title=f"{outcome.region}: what changed", title_justify="left")
    table.add_column("")
    for heading in ("before", "now", "change"):
        table.add_column(heading, justify="right")
    table.add_column("unit")
    for change in outcome.changes:
        percent = "new" if change.percent is None else f"{change.percent:+.1f} %"
        before = "" if change.old is None else plain(change.old)
        table.add_row(change.what, before, plain(change.new), percent, change.unit)
    return table


def refreshed_text(outcome: "Refreshed") -> str:
    """What the lists confirmed, do not have, and have wrongly."""
    dates = ", ".join(f"{service} of {date}" for service, date in outcome.published.items())
    lines = [
        f"Read {dates}.",
        f"{len(outcome.changes)} figures changed, {outcome.confirmed} are as before; written to {outcome.place}.",
    ]
    if outcome.kept:
        lines.append(f"Not in AWS's lists, so as they were: {', '.join(outcome.kept)}.")
    lines += [f"Refused, so as it was: {one}" for one in outcome.refused]
    return "\n".join(lines)


def plain(value: float) -> str:
    return f"{value:.10f}".rstrip("0").rstrip(".")
