"""coldpress init"""

from pathlib import Path

import click

from coldpress.errors import UsageError


@click.command()
@click.argument("model", required=False)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path(), show_default="here", help="Folder to write to."
)
@click.option("--classic", is_flag=True, help="Instead: a Dockerfile for a model.pt that must keep torch.")
def init(model: str | None, out: Path, classic: bool) -> None:
    """Start a function with code of your own: write coldpress.toml and model.py, for the task of MODEL if given.

    \b
    Examples:
      coldpress init
      coldpress init demo:minilm --out search
      coldpress init --classic
    """
    if classic:
        from coldpress.package.dockerfile import CLASSIC, write_classic

        if model is not None:
            raise UsageError(f"--classic is for a model.pt beside its Dockerfile, not for {model}: leave one out")
        out.mkdir(parents=True, exist_ok=True)
        write_classic(out, "any")
        click.echo(str(out / CLASSIC))
        return
    from coldpress.custom.scaffold import write_scaffold

    for path in write_scaffold(out, model):
        click.echo(str(path))
    click.echo(f"next: coldpress build {out} --out {out / 'out'}", err=True)
