"""coldpress bench"""

import json
from dataclasses import asdict
from pathlib import Path

import click


@click.command()
@click.argument("measured", metavar="DIR|aws:NAME")
@click.option("--memory", type=int, default=1769, show_default=True, help="MB; 1769 buy one vCPU.")
@click.option("--cold", type=click.IntRange(1, 1000), default=20, show_default=True, help="Fresh sandboxes.")
@click.option(
    "--warm", type=click.IntRange(1, 100_000), default=200, show_default=True, help="Requests of each shape."
)
@click.option("--sweep", is_flag=True, help="Measure memory sizes from 128 to 3538 MB, and recommend one.")
@click.option("--sizes", metavar="MB,MB", help="Measure these instead.")
@click.option(
    "--strategy",
    type=click.Choice(["cost", "speed", "balanced"]),
    default="balanced",
    show_default=True,
    help="What a size is recommended for.",
)
@click.option("--against", metavar="NAME,NAME", help="Measure others' ways beside it: classic, expert.")
@click.option("--original", metavar="MODEL", help="For --against: where the model is that DIR was built from.")
@click.option("--budget", metavar="FIGURE=LIMIT,…", help="End with 1 if a limit is broken; see above.")
@click.option("--data", metavar="JSON", help="Ask this instead of the task's typical requests.")
@click.option(
    "--usual", metavar="NAME", help="The request that costs and budgets are about.  [default: the first]"
)
@click.option("--like", metavar="DIR", help="Of aws:NAME: the artifact that it was deployed from.")
@click.option("--region", help="Of aws:NAME.  [default: the credentials' own]")
@click.option("--endpoint-url", metavar="URL", help="Of aws:NAME: the local Lambda, or a stand-in for AWS.")
@click.option("--json", "as_json", is_flag=True, help="Print all figures as JSON.")
@click.option(
    "--chart", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.svg", help="Draw the figures."
)
@click.pass_context
def bench(
    ctx: click.Context,
    measured: str,
    memory: int,
    cold: int,
    warm: int,
    sweep: bool,
    sizes: str | None,
    strategy: str,
    against: str | None,
    original: str | None,
    budget: str | None,
    data: str | None,
    usual: str | None,
    like: str | None,
    region: str | None,
    endpoint_url: str | None,
    as_json: bool,
    chart: Path | None,
) -> None:
    """Measure the function in DIR on this machine: cold starts and where their time goes, latency, memory, cost.
    Or the deployed one NAME, where it runs: cold starts of $LATEST, whose variables change meanwhile, and the
    latency of `live`, as Lambda reports them.

    It runs in the local Lambda, held to the memory and the CPU that Lambda would give it. All samples go to
    DIR/bench.json.

    A budget is made of: cold, cold-p95, p50, p90, p95, p99 (ms, s), throughput (/s), rss, zip, function (MB) and
    cost ($ per million). Those of requests may name one: "p95@128 tokens=20ms".

    \b
    Examples:
      coldpress bench out
      coldpress bench out --sweep --strategy cost
      coldpress bench out --sizes 512,1024,1769 --chart sizes.svg
      coldpress bench out --against classic,expert
      coldpress bench out --budget cold=150ms,p95=50ms,zip=40MB,rss=110MB
      coldpress bench aws:minilm --like out --cold 5 --warm 50
    """
    from rich.console import Console

    from coldpress.artifact import Artifact
    from coldpress.bench.budget import check_budget, check_requests, read_budget
    from coldpress.bench.chart import check_chart, write_chart
    from coldpress.bench.inputs import typical
    from coldpress.bench.run import run_bench
    from coldpress.bench.sweep import read_sizes
    from coldpress.cli.bench_table import bench_tables, budget_table
    from coldpress.cli.show import stderr
    from coldpress.progress import Shown

    if measured.startswith("aws:"):
        from coldpress.cli.bench_remote import bench_remote

        bench_remote(measured.removeprefix("aws:"), like, data, (cold, warm), (region, endpoint_url), as_json)
        return
    folder = Path(measured)
    limits = read_budget(budget) if budget is not None else []
    if chart is not None:
        check_chart(chart)
    if limits:
        artifact = Artifact.open(folder)
        check_requests(limits, [*typical(artifact, data)], bool(artifact.manifest["sizes"]["zip"]))
    done = run_bench(
        folder,
        memory_mb=memory,
        cold_runs=cold,
        warm_runs=warm,
        sweep=read_sizes(sizes) if sizes is not None else _all_sizes() if sweep else None,
        against=[name.strip() for name in against.split(",")] if against is not None else (),
        original=original,
        data=data,
        usual=usual,
        progress=Shown(stderr()),
    )
    kept = check_budget(limits, done)
    if chart is not None:
        write_chart(done, chart)
    if as_json:
        click.echo(json.dumps({**done.as_json(), **({"budget": [asdict(one) for one in kept]} if kept else {})}))
    else:
        console = Console()
        for part in bench_tables(done, strategy):
            console.print(part)
    if kept:
        (stderr() if as_json else Console()).print(budget_table(kept))
    if not all(one.ok for one in kept):
        ctx.exit(1)


def _all_sizes() -> tuple[int, ...]:
    """The usual sizes, but for those that buy more cores than this machine has."""
    from coldpress.bench.sweep import SIZES, sizes_here

    here = sizes_here()
    if here != SIZES:
        left = ", ".join(str(size) for size in SIZES if size not in here)
        click.echo(f"not measured, for want of cores: {left} MB", err=True)
    return here
