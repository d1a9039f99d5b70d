"""How a bench looks on a terminal."""

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from coldpress.bench.budget import Kept
from coldpress.bench.recommend import STRATEGIES
from coldpress.bench.result import Bench, Peer, percentile
from coldpress.bench.waterfall import PHASES

_BAR = 30
_IMPORTS = 6


def bench_tables(bench: Bench, strategy: str) -> Iterator[RenderableType]:
    yield _waterfall(bench)
    yield _imports(bench)
    yield _warm(bench)
    if bench.sweep:
        yield _sweep(bench, strategy)
        for size in bench.sweep:
            if not size.fits:
                yield Text(f"{size.memory_mb} MB does not fit: {size.why}", style="red")
        yield _recommended(bench, strategy)
    if bench.against:
        yield _against(bench)
    yield _where(bench)


def _waterfall(bench: Bench) -> Table:
    cold = bench.cold
    spread = (
        f"{len(cold.ms)} fresh sandboxes: p50 {_ms(cold.of.p50)}, p95 {_ms(cold.of.p95)}, max {_ms(cold.of.max)}"
    )
    init = f"init as Lambda bills it {_ms(median(cold.init_ms))}"
    table = Table(title=f"{bench.name}: cold start, {_ms(cold.of.p50)} ms", title_justify="left")
    table.caption, table.caption_justify = f"ms. {spread}; {init}. Phases: medians of traced starts", "left"
    table.add_column("phase")
    table.add_column("ms", justify="right")
    table.add_column("", no_wrap=True)
    table.add_column("", style="dim")
    whole = sum(phase.ms for phase in cold.waterfall) or 1.0
    for phase in cold.waterfall:
        before, wide = round(_BAR * phase.start_ms / whole), max(1, round(_BAR * phase.ms / whole))
        bar = Text(" " * min(before, _BAR - 1) + "█" * min(wide, _BAR), style="green")
        table.add_row(phase.name, _ms(phase.ms), bar, PHASES.get(phase.name, ""))
    return table


def _imports(bench: Bench) -> Text:
    slowest = sorted(bench.cold.imports, key=lambda one: -one.self_ms)[:_IMPORTS]
    if not slowest:
        return Text("imports: not traced, the bootstrap is not this coldpress's own", style="dim")
    named = ", ".join(f"{one.name} {one.self_ms:.2f}" for one in slowest)
    total = sum(one.self_ms for one in bench.cold.imports)
    return Text(
        f"{len(bench.cold.imports)} imports, {total:.1f} ms when traced; the slowest: {named}", style="dim"
    )


def _warm(bench: Bench) -> Table:
    table = Table(title=f"warm requests, {bench.memory_mb} MB", title_justify="left")
    table.caption, table.caption_justify = (
        f"ms, as Lambda bills them. Peak memory {bench.peak_mb:.0f} MB. A million of “{bench.usual}” cost "
        f"${bench.cost_per_million:.2f}; a million cold starts ${bench.cold_cost_per_million:.2f}",
        "left",
    )
    table.add_column("")
    for heading in ("p50", "p90", "p95", "p99", "max", "a second"):
        table.add_column(heading, justify="right")
    for name, warm in bench.warm.items():
        of = warm.of
        cells = map(_ms, (of.p50, of.p90, of.p95, of.p99, of.max))
        table.add_row(name, *cells, f"{warm.throughput:,.1f}", style="bold" if name == bench.usual else None)
    return table


def _sweep(bench: Bench, strategy: str) -> Table:
    table = Table(
        title="memory sizes: ms of a cold start (median) and of each request (p95)", title_justify="left"
    )
    table.padding = (0, 0, 0, 1)  # ten columns on a terminal of eighty
    table.caption_justify = "left"
    table.caption = f"billed ms and dollars per million are of “{bench.usual}”, and of cold starts with it"
    for heading in ("MB", "vCPU", "cold", *bench.warm, "billed", "$/M", "$/M cold", "peak MB"):
        table.add_column(heading, justify="right")
    chosen = bench.recommended.get(strategy)
    for size in bench.sweep:
        share = f"{size.cpu_share:.2f}"
        if not size.fits:
            table.add_row(str(size.memory_mb), share, *["-"] * (len(table.columns) - 2), style="red")
            continue
        figures = (median(size.cold_ms), *(percentile(ms, 0.95) for ms in size.warm.values()))
        costs = (f"{size.cost_per_million:.2f}", f"{size.cold_cost_per_million:.2f}")
        cells = (*map(_ms, figures), f"{size.billed_ms:.1f}", *costs, f"{size.peak_mb:.0f}")
        style = "bold green" if size.memory_mb == chosen else None
        table.add_row(str(size.memory_mb), share, *cells, style=style)
    return table


def _recommended(bench: Bench, strategy: str) -> Text:
    if not bench.recommended:
        return Text("no size fits: raise --sizes", style="red")
    text = Text("take ")
    for at, (name, memory) in enumerate(bench.recommended.items()):
        words = f"{memory} MB for {name} ({STRATEGIES[name]})"
        text.append(f"{', ' if at else ''}{words}", style="bold green" if name == strategy else "dim")
    return text


def _against(bench: Bench) -> Table:
    """A column for each way to serve it; what is theirs is also told as times ours."""
    ours, *_ = bench.against
    table = Table(title="beside others, one core, the same rounds", title_justify="left")
    table.caption = "medians; × times ours. " + ". ".join(f"{peer.name}: {peer.what}" for peer in bench.against)
    table.caption_justify = "left"
    table.add_column("")
    for peer in bench.against:
        table.add_column(peer.name, justify="right", style="bold green" if peer is ours else None)

    def row(name: str, unit: str, read: Callable[[Peer], float]) -> None:
        cells = [f"{_ms(read(peer))} {unit}" for peer in bench.against]
        times = ["", *(f"  {read(peer) / read(ours):5.1f} ×" for peer in bench.against[1:])]
        table.add_row(name, *map(str.__add__, cells, times))

    row("cold start", "ms", lambda peer: median(peer.cold_ms))
    for name in bench.warm:
        row(name, "ms", partial(_warm_median, name))
    row("peak memory", "MB", lambda peer: peer.peak_mb)
    row("unpacked", "MB", lambda peer: peer.packages_mb)
    table.add_row("cosine to ours", *(f"{peer.cosine:.4f}" for peer in bench.against))
    return table


def _warm_median(name: str, peer: Peer) -> float:
    return median(peer.warm[name])


def _where(bench: Bench) -> Text:
    held = "memory and CPU held by control groups" if bench.held else "one thread; memory and CPU not held"
    return Text(
        f"Measured here, not on Lambda: {bench.machine.cpu}, {bench.machine.cores} cores, {held}. "
        "Prices of us-east-1, without the free tier",
        style="dim",
    )


def budget_table(kept: list[Kept]) -> Table:
    table = Table(title="budget", title_justify="left")
    table.add_column("")
    table.add_column("measured", justify="right")
    table.add_column("limit", justify="right")
    table.add_column("")
    for one in kept:
        sign = "≥" if one.at_least else "≤"
        cells = (f"{one.measured:,.2f} {one.unit}", f"{sign} {one.limit:,.2f} {one.unit}")
        table.add_row(one.what, *cells, "ok" if one.ok else "broken", style=None if one.ok else "bold red")
    return table


def _ms(value: float) -> str:
    return f"{value:,.2f}" if value < 10 else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"
