"""coldpress size"""

import json
from dataclasses import asdict
from pathlib import Path

import click


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def size(folder: Path, as_json: bool) -> None:
    """Show what weighs what in the function of DIR, against Lambda's limits.

    \b
    Examples:
      coldpress size out
      coldpress size out --json | jq '.limits'
    """
    from rich.console import Console

    from coldpress.artifact import Artifact
    from coldpress.cli.show import limits_table, weights_bar, weights_table
    from coldpress.package.weigh import limits, weigh

    artifact = Artifact.open(folder)
    weights, kept = weigh(artifact), limits(artifact)
    if as_json:
        figures = {"files": [asdict(one) for one in weights], "limits": [asdict(one) for one in kept]}
        click.echo(json.dumps(figures))
        return
    console = Console()
    console.print(weights_table(artifact.name, weights))
    console.print(weights_bar(weights, console.width))
    console.print(limits_table(kept))
