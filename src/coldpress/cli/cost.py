"""coldpress cost"""

from pathlib import Path

import click


@click.command()
@click.argument("artifact", metavar="[DIR]", type=click.Path(path_type=Path), required=False)
@click.option("--ms", type=click.FloatRange(0.01, 900_000), help="A request's duration, instead of measuring DIR.")
@click.option("--cold-ms", type=click.FloatRange(0, 900_000), help="What a cold start adds to --ms.  [default: 0]")
@click.option("--memory", type=click.IntRange(128, 10240), help="MB.  [default: as bench recommends, or 1769]")
@click.option("--arch", type=click.Choice(["x86_64", "arm64"]), help="Of --ms.  [default: x86_64]")
@click.option("--rate", type=float, default=1.0, show_default=True, help="Requests a second, all month.")
@click.option("--cold-share", type=float, help="Of requests that start a sandbox.  [default: simulated]")
@click.option("--idle", type=float, default=300.0, show_default=True, help="Seconds that a sandbox is kept.")
@click.option("--free-tier", is_flag=True, help="Take off what AWS gives for free every month.")
@click.option("--server", default="g4dn.xlarge", show_default=True, help="The server to compare with.")
@click.option("--server-rate", type=float, help="Requests a second that one such server does with this model.")
@click.option("--terms", type=click.Choice(["on-demand", "spot"]), default="on-demand", show_default=True)
@click.option(
    "--sagemaker", metavar="MS,GB,MS", help="A request, memory, cold start.  [default: 560ms,4GB,2000ms]"
)
@click.option("--bytes", "moved", type=click.IntRange(0), default=10_000, show_default=True, help="In and out.")
@click.option("--region", default="us-east-1", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def cost(
    artifact: Path | None,
    ms: float | None,
    cold_ms: float | None,
    memory: int | None,
    arch: str | None,
    rate: float,
    cold_share: float | None,
    idle: float,
    free_tier: bool,
    server: str,
    server_rate: float | None,
    terms: str,
    sagemaker: str | None,
    moved: int,
    region: str,
    as_json: bool,
) -> None:
    """What the function in DIR costs, measured here, beside a server of your own and SageMaker Serverless.

    Without DIR, by the figures that you give.

    \b
    Examples:
      coldpress cost out --rate 5
      coldpress cost --ms 40 --memory 1024 --cold-ms 300 --rate 20 --server-rate 120
    """
    import json
    from dataclasses import asdict

    from rich.console import Console

    from coldpress.cli.prices_table import assumptions_text, comparison_table
    from coldpress.cli.show import stderr
    from coldpress.cost.book import price_book
    from coldpress.cost.compare import CLASSIC_SAGEMAKER, Assumptions, Work, compare
    from coldpress.cost.measured import measured_works
    from coldpress.cost.plan.options import read_sagemaker
    from coldpress.errors import UsageError
    from coldpress.progress import Shown

    if (artifact is None) == (ms is None):
        raise UsageError("name an artifact to measure, or give --ms (and --memory, --cold-ms) instead")
    given = [name for name, value in (("--cold-ms", cold_ms), ("--arch", arch)) if value is not None]
    if artifact is not None and given:
        raise UsageError(f"{given[0]} belongs to --ms: {artifact} has its own")
    endpoint = CLASSIC_SAGEMAKER
    if sagemaker:
        said = read_sagemaker(sagemaker)
        endpoint = Work(endpoint.name, said.ms, round(said.memory_gb * 1024), said.cold_ms, source=said.source)
    assumed = Assumptions(
        rate,
        cold_share,
        idle,
        free_tier=free_tier,
        bytes_in_out=moved,
        server=server,
        terms=f"{terms.replace('-', '_')}_hour",
        server_rate=server_rate,
        sagemaker=endpoint,
    )
    book = price_book(region)
    if artifact is not None:
        works = measured_works(artifact, memory, Shown(stderr()))
    else:
        assert ms is not None
        works = [Work("a function", ms, memory or 1769, cold_ms or 0.0, arch or "x86_64", "as given")]
    rows = compare(works, assumed, book)
    if as_json:
        click.echo(json.dumps({"rows": [asdict(row) for row in rows], "assumptions": asdict(assumed)}, indent=1))
        return
    console = Console()
    console.print(comparison_table(rows, rate, len(works)))
    console.print(assumptions_text(works[0], assumed, book), highlight=False)
