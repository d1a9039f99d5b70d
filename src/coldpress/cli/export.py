"""coldpress export"""

from pathlib import Path
from typing import Any

import click

from coldpress.cli.wanted_options import wanted_from, wanted_options


@click.command()
@click.argument("kind", type=click.Choice(["sam", "cloudformation", "terraform", "cdk-python"]))
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@wanted_options
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder to write to.  [default: NAME-KIND, in the current one]"
)
@click.option("--force", is_flag=True, help="Replace also files that somebody changed.")
def export(kind: str, folder: Path, out: Path | None, force: bool, **said: Any) -> None:
    """Write down what `coldpress deploy` would make of the package in DIR, for those who deploy by other tools.

    The folder gets the template, a copy of function.zip and a README.md with the commands to run. What may differ
    from one deployment to the next are parameters. No secret is in it: a URL that is guarded by a token asks for
    the token's SHA-256 when it is deployed. Files that were changed since are left alone, and so is a folder that
    is not ours.

    \b
    Examples:
      coldpress export terraform out --name minilm
      coldpress export sam out --name minilm --url token --provisioned 2
      coldpress export cloudformation out --name minilm --out infra/minilm
    """
    from coldpress.cli.deploy_table import warn_if_public
    from coldpress.export.run import export as write

    wanted = wanted_from(folder, said)
    warn_if_public(wanted)
    written = write(kind, wanted, out, force=force)
    for path in written:
        click.echo(str(path))
    click.echo(f"next: {written[0].parent / 'README.md'}", err=True)
