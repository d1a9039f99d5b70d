"""coldpress rollback"""

import click


@click.command()
@click.argument("name")
@click.option("--to", metavar="VERSION", help="[default: the one before the live one]")
@click.option("--region", help="[default: the credentials' own]")
@click.option("--endpoint-url", metavar="URL", help="The local Lambda, or a stand-in for AWS.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def rollback(name: str, to: str | None, region: str | None, endpoint_url: str | None, yes: bool) -> None:
    """Point NAME's alias `live` back to an earlier version; a canary under way ends with it."""
    from coldpress.cli.deploy_table import carry_out
    from coldpress.deploy.aws import connect
    from coldpress.deploy.manage import rollback as plan

    aws = connect(region, endpoint_url)
    carry_out(plan(aws, name, to), name, aws, yes=yes)
