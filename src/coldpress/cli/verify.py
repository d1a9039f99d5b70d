"""coldpress verify"""

import json
from dataclasses import asdict
from pathlib import Path

import click


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--cpu", default="native", show_default=True, help="native, avx2, arm64: some, with commas.")
@click.option(
    "--samples",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON Lines, a request on each, instead of the built-in ones.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
def verify(folder: Path, cpu: str, samples: Path | None, as_json: bool) -> None:
    """Check the artifact in DIR again: its files, its answers, and that other CPUs give the same.

    \b
    Examples:
      coldpress verify out
      coldpress verify out --cpu native,avx2,arm64
    """
    from coldpress.artifact import Artifact
    from coldpress.cli.show import checks_table, stderr
    from coldpress.errors import ArtifactError
    from coldpress.progress import Shown
    from coldpress.verify.recheck import recheck

    checks = recheck(Artifact.open(folder), cpu.split(","), samples, Shown(stderr()))
    failed = [check.what for check in checks if not check.passed]
    stderr().print(checks_table(checks))
    if as_json:
        click.echo(json.dumps([asdict(check) for check in checks]))
    if failed:
        raise ArtifactError(f"{folder} is not as it should be: {'; '.join(failed)}. Build it again")
