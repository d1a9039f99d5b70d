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
@click.option("--watch", is_flag=True, help="A dashboard and two alarms; the function then writes its metrics.")
@click.option("--alarm-topic", metavar="ARN", help="With --watch: the SNS topic that hears of the alarms.")
@click.option(
    "--alarm-latency",
    type=click.IntRange(1, 900_000),
    metavar="MS",
    help="With --watch: the p95 that is too slow.  [default: 3 × what was measured, or half of the timeout]",
)
@click.option(
    "--map-from", metavar="S3", help="A state machine for `coldpress map`: s3://bucket/prefix/ it reads."
)
@click.option("--map-to", metavar="S3", help="With --map-from: s3://bucket/prefix/ that its answers go to.")
@click.option("--force", is_flag=True, help="Replace also files that somebody changed.")
def export(
    kind: str,
    folder: Path,
    out: Path | None,
    watch: bool,
    alarm_topic: str | None,
    alarm_latency: int | None,
    map_from: str | None,
    map_to: str | None,
    force: bool,
    **said: Any,
) -> None:
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
      coldpress export sam out --name minilm --watch --alarm-topic arn:aws:sns:eu-west-1:123456789012:alarms
    """
    from coldpress.bulk.places import Places
    from coldpress.cli.deploy_table import warn_if_public
    from coldpress.deploy.watch import Watch
    from coldpress.errors import UsageError
    from coldpress.export.run import export as write

    if not watch and (alarm_topic or alarm_latency):
        raise UsageError("--alarm-topic and --alarm-latency are for alarms, which --watch makes: say it too")
    alarms = Watch(alarm_topic, alarm_latency) if watch else None
    wanted = wanted_from(folder, said, watch=alarms, bulk=Places.parse(map_from, map_to))
    warn_if_public(wanted)
    written = write(kind, wanted, out, force=force)
    for path in written:
        click.echo(str(path))
    click.echo(f"next: {written[0].parent / 'README.md'}", err=True)
