"""coldpress prune"""

import click


@click.command()
@click.argument("name")
@click.option("--keep", type=int, default=3, show_default=True, help="Of the newest, beside the live one.")
@click.option("--region", help="[default: the credentials' own]")
@click.option("--endpoint-url", metavar="URL", help="The local Lambda, or a stand-in for AWS.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def prune(name: str, keep: int, region: str | None, endpoint_url: str | None, yes: bool) -> None:
    """Delete NAME's old versions; the live one stays, whatever its age."""
    from coldpress.cli.deploy_table import carry_out
    from coldpress.deploy.aws import connect
    from coldpress.deploy.manage import prune as plan

    aws = connect(region, endpoint_url)
    carry_out(plan(aws, name, keep), name, aws, yes=yes)
