"""coldpress status"""

import click


@click.command()
@click.argument("name")
@click.option("--region", help="[default: the credentials' own]")
@click.option("--endpoint-url", metavar="URL", help="The local Lambda, or a stand-in for AWS.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def status(name: str, region: str | None, endpoint_url: str | None, as_json: bool) -> None:
    """What is deployed as NAME: versions, weights, its URL, what is kept ready, last errors, the month's cost."""
    import json
    import time
    from dataclasses import asdict

    from coldpress.cli.deploy_table import show_status
    from coldpress.deploy.aws import connect
    from coldpress.deploy.manage import status as read

    found = read(connect(region, endpoint_url), name, errors_since=time.time() - 86400)
    if as_json:
        click.echo(json.dumps(asdict(found), indent=1))
    else:
        show_status(found)
