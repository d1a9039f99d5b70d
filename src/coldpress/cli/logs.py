"""coldpress logs"""

import click


@click.command()
@click.argument("name")
@click.option(
    "--since", metavar="TIME", default="10m", show_default=True, help="From when on: 30s, 10m, 2h or 7d ago."
)
@click.option("--follow", is_flag=True, help="Go on until Ctrl-C.")
@click.option("--region", help="[default: the credentials' own]")
@click.option("--endpoint-url", metavar="URL", help="The local Lambda, or a stand-in for AWS.")
def logs(name: str, since: str, follow: bool, region: str | None, endpoint_url: str | None) -> None:
    """What the deployed function NAME wrote, of all its sandboxes, the oldest line first.

    \b
    Examples:
      coldpress logs minilm --since 2h
      coldpress logs minilm --follow
    """
    from datetime import datetime

    from coldpress.deploy.aws import connect
    from coldpress.deploy.log import follow_log, read_log
    from coldpress.deploy.manage import status
    from coldpress.deploy.options import seconds

    aws = connect(region, endpoint_url)
    begin = aws.clock() - seconds("--since", since)
    status(aws, name)  # a name that is wrong is told as such, not as an empty log
    for line in (follow_log if follow else read_log)(aws, name, begin):
        when = datetime.fromtimestamp(line.at).astimezone()
        click.echo(f"{when:%H:%M:%S}.{when.microsecond // 1000:03} {line.text}")
