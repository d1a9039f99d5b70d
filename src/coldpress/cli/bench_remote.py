"""How a function that was measured where it runs looks on a terminal, beside what was measured here."""

import json

import click
from rich.console import Console
from rich.table import Table

from coldpress.artifact import Artifact
from coldpress.bench.inputs import Request, own_request, typical
from coldpress.bench.remote import Remote, run_remote
from coldpress.bench.result import BENCH, Bench, Percentiles
from coldpress.cli.show import stderr
from coldpress.deploy.aws import connect
from coldpress.errors import UsageError
from coldpress.progress import Shown


def bench_remote(
    name: str,
    like: str | None,
    data: str | None,
    runs: tuple[int, int],
    place: tuple[str | None, str | None],
    as_json: bool,
) -> None:
    artifact = Artifact.open(like) if like is not None else None
    aws = connect(*place)
    cold, warm = runs
    requests = _requests(artifact, data)
    found = run_remote(aws, name, requests, cold_runs=cold, warm_runs=warm, progress=Shown(stderr()))
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=1))
    else:
        Console().print(remote_table(found, _local(artifact)))


def _requests(artifact: Artifact | None, data: str | None) -> dict[str, Request]:
    if artifact is not None:
        return typical(artifact, data)
    if data is None:
        raise UsageError("what is it to be asked? --like DIR for its artifact's typical requests, or --data JSON")
    return own_request(data)


def _local(artifact: Artifact | None) -> Bench | None:
    return Bench.load(artifact.path) if artifact is not None and (artifact.path / BENCH).exists() else None


def remote_table(found: Remote, local: Bench | None) -> Table:
    """Medians and tails there; what this machine says of the same beside it."""
    table = Table(title=f"{found.name}, {found.memory_mb:,} MB: {found.where}", title_justify="left")
    table.add_column("ms")
    for column in ("p50", "p95", "max"):
        table.add_column(column, justify="right")
    here: dict[str, Percentiles] = {}
    if local is not None:
        table.add_column("local p50", justify="right", style="dim")
        here = {"init": Percentiles.of(local.cold.init_ms), "cold start": local.cold.of}
        here |= {f"warm, {name}": warm.of for name, warm in local.warm.items()}
    for name, of in found.rows():
        beside = [f"{here[name].p50:,.1f}" if name in here else ""] if local is not None else []
        table.add_row(name, f"{of.p50:,.1f}", f"{of.p95:,.1f}", f"{of.max:,.1f}", *beside)
    table.caption = f"this measurement cost about ${found.cost:.6f}"
    table.caption_justify = "left"
    return table
