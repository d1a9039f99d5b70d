"""The report's sections: first what a manager reads in a minute, then what an engineer reads in an hour."""

from collections.abc import Callable, Iterator
from statistics import median

from coldpress.cost.book import Price
from coldpress.cost.compare import CLASSIC_LAMBDA
from coldpress.cost.figures import all_prices
from coldpress.cost.plan import words
from coldpress.report import charts
from coldpress.report.gather import Evidence
from coldpress.report.html import cards, draw, folded, heading, items, paragraph, table, title
from coldpress.words import ms_text, rate_text, short


def verdict(evidence: Evidence) -> Iterator[str]:
    bench, usual, size = evidence.bench, evidence.usual, evidence.profile.memory_mb
    times = evidence.profile.times[size]
    warm, cold = median(times.warm), median(init + first for init, first in times.cold)
    yield title(evidence.name)
    yield paragraph(
        f"Measured on {evidence.made} by coldpress {evidence.coldpress} in the local Lambda "
        f"({bench.machine.cpu}), not on AWS.",
        "soft",
    )
    gpu = evidence.rows[0]
    text = (
        f"On Lambda with {size:,} MB a request ({bench.usual}) takes {ms_text(warm)}, a cold "
        f"start {ms_text(cold)}, and a "
        f"million requests cost {usual.per_million:,.2f} $ at {evidence.rate:g} a second; {gpu.name} costs "
        f"{gpu.per_million:,.0f} $ for the same million."
    )
    best, wishes = evidence.plan.best, [name for name in evidence.plan.slo if name != "throttled"]
    if best is not None and wishes:
        wished = " and ".join(words.wish_text(name, evidence.plan.slo[name]) for name in wishes)
        text += (
            f" The cheapest way with {wished}: {best.name}, {best.dollars:,.2f} $ a month for the traffic below."
        )
    yield paragraph(text, "verdict")
    drift = next((one.drift for one in evidence.candidates if one.chosen), None)
    facts = [
        (ms_text(cold), "cold start, process to first answer"),
        (ms_text(warm), f"warm, p50, {bench.usual}"),
        (f"{usual.per_million:,.2f} $", f"per million at {evidence.rate:g} a second, cold starts included"),
        (f"{bench.peak_mb:,.0f} MB", "peak memory"),
        (f"{evidence.profile.package_mb:,.1f} MB", "package"),
    ]
    if drift is not None:
        facts.append((f"{drift:.3g}", "drift from the original's answers"))
    yield cards(facts)


def comparison(evidence: Evidence) -> Iterator[str]:
    yield heading(f"What it costs at {evidence.rate:g} request{'' if evidence.rate == 1 else 's'} a second")
    rows = []
    first_own = len(evidence.rows) - evidence.ours
    for number, row in enumerate(evidence.rows):
        own = number >= first_own
        wins = evidence.wins.get(row.name.split(" × ")[0])
        rows.append(
            (
                "ours" if own else "",
                (
                    row.name,
                    f"{row.per_million:,.2f}",
                    f"{row.per_month:,.2f}",
                    "none" if row.cold_ms is None else ms_text(row.cold_ms),
                    "?" if row.p99_ms is None else ms_text(row.p99_ms),
                    "" if own else ("never" if wins is None else f"from {rate_text(wins)}"),
                    row.source,
                ),
            )
        )
    head = ("", "$ per million", "$ per month", "cold start", "p99", "cheaper than ours", "figures")
    yield table(head, rows, notes=True)
    does = "a server is taken to do any rate, since nobody said what it can do"
    if evidence.assumed.server_rate is not None:
        does = (
            f"a server does {short(evidence.assumed.server_rate)} a second ({evidence.options.servers[0].source})"
        )
    yield paragraph(
        f"“Cheaper than ours” is against {evidence.usual.name}, by simulation of steady traffic; {does}.", "soft"
    )


def pressed(evidence: Evidence) -> Iterator[str]:
    yield heading("What was pressed")
    yield table(("", ""), (("", (name, value)) for name, value in evidence.facts.items()), notes=True)
    if not evidence.candidates:
        return
    names = list(dict.fromkeys(name for one in evidence.candidates for name in one.warm_ms))
    rows = []
    for one in evidence.candidates:
        cells = [
            one.name + (" (taken)" if one.chosen else ""),
            _number(one.megabytes, ",.1f"),
            _number(one.drift, ".2g"),
            _number(one.limit, "g"),
            _number(one.cold_ms, ",.0f"),
            *(_number(one.warm_ms.get(name), ",.2f") for name in names),
            _number(one.peak_mb, ",.0f"),
            _number(one.cost_per_million, ",.2f"),
            one.refused or "",
        ]
        rows.append(("ours" if one.chosen else "", cells))
    head = (
        "candidate",
        "MB",
        "drift",
        "limit",
        "cold ms",
        *(f"{name} ms" for name in names),
        "peak MB",
        "$/million",
        "",
    )
    yield table(head, rows, notes=True)
    if sum(one.drift is not None and bool(one.warm_ms) for one in evidence.candidates) > 1:
        yield draw(charts.candidates(evidence.candidates), "Candidates: drift from the original against time")


def cold(evidence: Evidence) -> Iterator[str]:
    bench = evidence.bench
    of = bench.cold.of
    yield heading("A cold start, millisecond by millisecond")
    yield draw(charts.waterfall(bench.cold.waterfall), "From the process's start to the first answer, medians")
    yield paragraph(
        f"{len(bench.cold.ms)} fresh sandboxes at {bench.memory_mb:,} MB: p50 {ms_text(of.p50)}, "
        f"p95 {ms_text(of.p95)}, "
        f"worst {ms_text(of.max)}. Lambda's own work before it (a machine, the package) is in no "
        f"metric and not in here."
    )
    if bench.cold.imports:
        slowest = sorted(bench.cold.imports, key=lambda one: -one.self_ms)[:40]
        rows = (("", (one.name, f"{one.self_ms:.2f}", f"{one.total_ms:.2f}")) for one in slowest)
        content = table(("module", "itself, ms", "with what it imports, ms"), rows)
        yield folded(f"Python imports, slowest first ({len(bench.cold.imports)} in all, traced)", content)


def warm(evidence: Evidence) -> Iterator[str]:
    yield heading("Warm requests")
    rows = (
        (
            "ours" if name == evidence.bench.usual else "",
            (
                name,
                *(f"{value:,.2f}" for value in (one.of.p50, one.of.p90, one.of.p95, one.of.p99, one.of.max)),
                f"{one.throughput:,.0f}",
            ),
        )
        for name, one in evidence.bench.warm.items()
    )
    yield table(("request", "p50 ms", "p90", "p95", "p99", "worst", "a second, one core"), rows)
    if evidence.bench.against:
        yield heading("Beside others' ways to serve the same model")
        rows_against = (
            (
                "ours" if number == 0 else "",
                (
                    peer.what,
                    f"{median(peer.cold_ms):,.0f}",
                    *(f"{median(ms):,.1f}" for ms in peer.warm.values()),
                    f"{peer.peak_mb:,.0f}",
                    f"{peer.packages_mb:,.0f}",
                    f"{peer.cold_ratio:,.1f} × / {peer.warm_ratio:,.1f} ×",
                ),
            )
            for number, peer in enumerate(evidence.bench.against)
        )
        shapes = [f"{name}, ms" for name in evidence.bench.against[0].warm]
        head = ("", "cold ms", *shapes, "peak MB", "unpacked MB", "cold / warm to ours")
        yield table(head, rows_against)


def memory(evidence: Evidence) -> Iterator[str]:
    bench = evidence.bench
    fitting = [size for size in bench.sweep if size.fits]
    if len(fitting) < 2:
        return
    yield heading("Which memory size")
    chosen = ", ".join(f"{name}: {size:,} MB" for name, size in bench.recommended.items())
    yield paragraph(f"More memory buys more CPU: 1,769 MB are one vCPU. Recommended by {chosen}.")
    yield draw(charts.sweep_times(bench), "Duration by memory size, medians")
    yield draw(charts.sweep_costs(bench), f"Cost of a million warm requests by memory size, {bench.usual}")
    rows = (
        (
            "ours" if size.memory_mb == bench.recommended.get("balanced") else ("" if size.fits else "misses"),
            (
                f"{size.memory_mb:,}",
                f"{size.cpu_share:.2f}",
                ms_text(median(size.cold_ms)) if size.fits else "–",
                ms_text(median(size.warm[bench.usual])) if size.fits else "–",
                f"{size.billed_ms:,.1f}" if size.fits else "–",
                f"{size.cost_per_million:,.2f}" if size.fits else "–",
                f"{size.peak_mb:,.0f}" if size.fits else "–",
                size.why,
            ),
        )
        for size in bench.sweep
    )
    head = ("MB", "vCPU", "cold", f"warm, {bench.usual}", "billed ms", "$/million", "peak MB", "")
    yield folded("The figures", table(head, rows, notes=True))


def traffic(evidence: Evidence) -> Iterator[str]:
    yield heading("Cost against traffic")
    yield draw(
        charts.costs(evidence.curves), "Dollars a month by steady requests a second; dots mark where one wins"
    )
    ours, *others = evidence.curves
    lines = []
    for curve in others:
        if curve.wins_from is None:
            lines.append(f"{curve.name} never costs less than {ours.name} here.")
        else:
            lines.append(f"{curve.name} costs less than {ours.name} from {rate_text(curve.wins_from)} on.")
    yield items(lines)


def plan(evidence: Evidence) -> Iterator[str]:
    made = evidence.plan
    seen = made.survey
    yield heading("The plan")
    yield paragraph(
        f"{made.traffic}: {seen.requests:,} requests, {seen.rate:,.3g} a second on average, "
        f"{seen.busiest:,.3g} in the "
        f"busiest minute. Objective: "
        + ", ".join(words.wish_text(name, limit) for name, limit in made.slo.items())
        + "."
    )
    yield draw(charts.plan_costs(made), "Dollars a month for this traffic")
    rows = []
    for row in made.rows:
        out = row.outcome
        kind = "best" if row is made.best else ("misses" if row.misses else ("guessed" if row.guessed else ""))
        notes = "; ".join(filter(None, [("misses: " + ", ".join(row.misses)) if row.misses else "", row.assumes]))
        cells = (
            row.name,
            f"{row.dollars:,.2f}",
            f"{row.per_million:,.2f}",
            f"{out.cold_share:.2%}",
            *(ms_text(ms) for ms in (out.p50_ms, out.p95_ms, out.p99_ms)),
            f"{out.throttled / max(1, out.requests):.2%}",
            notes,
        )
        rows.append((kind, cells))
    head = ("", "$ a month", "$/million", "cold", "p50", "p95", "p99", "throttled", "notes")
    yield table(head, rows, notes=True)


def assumptions(evidence: Evidence) -> Iterator[str]:
    options, assumed, book = evidence.options, evidence.assumed, evidence.book
    yield heading("What it rests on")
    yield items(
        [
            "Sandboxes were "
            + ("held to" if evidence.bench.held else "not held to")
            + " the memory and CPU that Lambda gives.",
            *words.assumptions(options, evidence.profile, book),
            f"The classic Lambda: {CLASSIC_LAMBDA.source}; the classic server: {assumed.server}, all month.",
            "The costs of memory sizes and candidates are at us-east-1's prices.",
        ]
    )
    rows = (
        ("", (name, f"{price.value:.10f}".rstrip("0").rstrip("."), price.unit, price.date, _source(price)))
        for name, price in all_prices(book).items()
    )
    yield folded("Every price, with its source", table(("", "$", "unit", "date", "source"), rows, notes=True))
    yield f"<footer>coldpress {evidence.coldpress} · report.json beside this page has every figure.</footer>"


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _source(price: Price) -> str:
    borrowed = f"{price.like}'s, borrowed: " if price.like else ""
    return borrowed + price.source + (f" ({price.note})" if price.note else "")


SECTIONS: tuple[Callable[[Evidence], Iterator[str]], ...] = (
    verdict,
    comparison,
    traffic,
    plan,
    cold,
    warm,
    memory,
    pressed,
    assumptions,
)
