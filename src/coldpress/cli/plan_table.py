"""How a plan looks on a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from coldpress.cost.bill import SECONDS_A_MONTH
from coldpress.cost.book import PriceBook
from coldpress.cost.plan.breakeven import Curve
from coldpress.cost.plan.options import Options
from coldpress.cost.plan.planner import Plan
from coldpress.cost.plan.profile import Profile
from coldpress.cost.plan.survey import Done
from coldpress.cost.plan.words import assumptions, slo_text
from coldpress.words import days_text, rate_text, share_text, short


@contextmanager
def progress_bar(what: str) -> Iterator[Done]:
    """A bar on standard error, for what takes a while; gone when it is done."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=1.0)
        yield lambda share: progress.update(task, completed=share)


def show_plan(plan: Plan, crossings: list[Curve], options: Options, profile: Profile, book: PriceBook) -> None:
    console = Console()
    console.print(plan_table(plan, console.width))
    best, wished = plan.best, slo_text(plan.slo)
    if best is None:
        console.print(f"[bold red]None of them meets {wished}.[/]", highlight=False)
    else:
        console.print(
            f"[bold green]{best.name}[/] is the cheapest that meets {wished}: {best.dollars:,.2f} $ a month.",
            highlight=False,
        )
    for line in crossing_lines(crossings):
        console.print(line, highlight=False)
    for note in [*_notes(plan), *assumptions(options, profile, book)]:
        console.print(note, style="dim", highlight=False)


def plan_table(plan: Plan, width: int) -> Table:
    """Without the lesser columns where there is no room for them."""
    table = Table(
        title_justify="left", title=_title(plan), box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0)
    )
    table.add_column("", min_width=16)
    few = width < 70
    for heading in (
        ("$/month", "p99", "cold") if few else ("$/month", "$/million", "cold", "p50", "p95", "p99", "429")
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    for number, row in enumerate(plan.rows, 1):
        outcome = row.outcome
        month, cold = f"{row.dollars:,.2f}", _share(outcome.cold_share)
        p50, p95, p99 = (short(ms) for ms in (outcome.p50_ms, outcome.p95_ms, outcome.p99_ms))
        turned_away = _share(outcome.throttled / max(1, outcome.requests))
        every = (month, f"{row.per_million:,.2f}", cold, p50, p95, p99, turned_away)
        table.add_row(
            f"{row.name} [dim]{number}[/]" if row.assumes else row.name,
            *((month, p99, cold) if few else every),
            style="bold green" if row is plan.best else ("red" if row.misses else ("dim" if row.guessed else "")),
        )
    return table


def _title(plan: Plan) -> str:
    seen = plan.survey
    return (
        f"{plan.traffic}: {seen.requests:,} requests in {days_text(seen.seconds)}, {short(seen.rate)} a second, "
        f"{short(seen.busiest)} in the busiest minute; a month is {short(SECONDS_A_MONTH / seen.seconds)} × that; "
        f"latencies in ms"
    )


def _share(share: float) -> str:
    return "–" if share == 0 else share_text(share)


def _notes(plan: Plan) -> Iterator[str]:
    for number, row in enumerate(plan.rows, 1):
        said = "; ".join(filter(None, [row.assumes, ("misses: " + ", ".join(row.misses)) if row.misses else ""]))
        if said:
            yield f"{number} {row.name}: {said}."


def crossing_lines(crossings: list[Curve]) -> list[str]:
    ours, *others = crossings
    lines = []
    for other in others:
        if other.wins_from is None:
            most = rate_text(other.points[-1][0])
            lines.append(f"{other.name} does not cost less than {ours.name}, up to {most}.")
        else:
            lines.append(f"{other.name} costs less than {ours.name} from {rate_text(other.wins_from)} on.")
    return lines
