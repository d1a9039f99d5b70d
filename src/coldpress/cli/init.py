"""coldpress init"""

from pathlib import Path

import click


@click.command()
@click.argument("model", required=False)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path(), show_default="here", help="Folder to write to."
)
def init(model: str | None, out: Path) -> None:
    """Start a function with code of your own: write coldpress.toml and model.py, for the task of MODEL if given.

    \b
    Examples:
      coldpress init
      coldpress init demo:minilm --out search
    """
    from coldpress.custom.scaffold import write_scaffold

    for path in write_scaffold(out, model):
        click.echo(str(path))
    click.echo(f"next: coldpress build {out} --out {out / 'out'}", err=True)
