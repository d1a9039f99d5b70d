"""coldpress report"""

from pathlib import Path

import click


@click.command()
@click.argument("artifact", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Folder to write to.  [default: DIR]"
)
@click.option("--rate", type=float, default=1.0, show_default=True, help="Requests a second to compare at.")
@click.option("--trace", type=click.Path(path_type=Path), help="Recorded traffic to plan for.")
@click.option("--pattern", help="Or a kind: steady, diurnal, bursty, sporadic.  [default: diurnal]")
@click.option("--slo", metavar="WISHES", help="As p99=300ms,cold=1%.")
@click.option(
    "--server", "servers", multiple=True, metavar="TYPE=RATE", help="A server and its requests a second."
)
@click.option("--server-source", help="Who says so; printed beside it.")
@click.option("--region", default="us-east-1", show_default=True)
@click.option("--measure", is_flag=True, help="Measure again, though there is a bench.json.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON too.")
def report(
    artifact: Path,
    out: Path | None,
    rate: float,
    trace: Path | None,
    pattern: str | None,
    slo: str | None,
    servers: tuple[str, ...],
    server_source: str | None,
    region: str,
    measure: bool,
    as_json: bool,
) -> None:
    """Put the evidence on one page: what was pressed, how fast it starts, what it costs, how to run it.

    Writes DIR/report.html, which needs no network and no script, and DIR/report.json. Measures first, as
    `coldpress bench DIR --sweep` does, if that was not done.

    \b
    Examples:
      coldpress report out
      coldpress report out --trace access.log --slo p99=300ms --server g4dn.xlarge=900 --server-source 'our test'
    """
    import json

    from coldpress.artifact import Artifact
    from coldpress.bench.lab import not_held
    from coldpress.bench.result import BENCH, Bench
    from coldpress.bench.run import run_bench
    from coldpress.bench.sweep import sizes_here
    from coldpress.cli.plan_table import progress_bar
    from coldpress.cli.show import stderr
    from coldpress.cost.book import price_book
    from coldpress.cost.plan.options import Options, read_server, read_slo
    from coldpress.cost.plan.survey import Shape, find_traffic
    from coldpress.errors import UsageError
    from coldpress.progress import Shown
    from coldpress.report import write_report
    from coldpress.report.gather import gather
    from coldpress.report.html import check_drawing

    opened = Artifact.open(artifact)
    options = Options(servers=tuple(read_server(text, server_source) for text in servers))
    traffic = find_traffic(trace, pattern, None if trace else rate, None, Shape(), 0)
    wishes, book = read_slo(slo) if slo else None, price_book(region)
    check_drawing()
    target = out or artifact
    if not target.is_dir():
        raise UsageError(f"--out {target} is not a folder: make it first")
    if server_source and not servers:
        raise UsageError(
            f"--server-source {server_source!r} says where a --server's figure is from; there is none"
        )
    if measure or not (artifact / BENCH).exists():
        run_bench(artifact, sweep=None if not_held(artifact, 1769) else sizes_here(), progress=Shown(stderr()))
    bench = Bench.load(artifact)
    with progress_bar("simulating") as done:
        evidence = gather(opened, bench, traffic, options, book, rate=rate, slo=wishes, done=done)
    page, data = write_report(evidence, target)
    click.echo(f"{page} and {data.name}", err=True)
    if as_json:
        click.echo(json.dumps(evidence.as_json(), indent=1))
