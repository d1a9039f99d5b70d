"""coldpress delete"""

import click


@click.command()
@click.argument("name")
@click.option("--region", help="[default: the credentials' own]")
@click.option("--endpoint-url", metavar="URL", help="The local Lambda, or a stand-in for AWS.")
@click.option("--dry-run", is_flag=True, help="Show what would go, and stop.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(name: str, region: str | None, endpoint_url: str | None, dry_run: bool, yes: bool) -> None:
    """Delete NAME with all that was made for it: URL, versions, function, log and role. Shows what goes first."""
    from coldpress.cli.deploy_table import carry_out
    from coldpress.deploy.aws import connect
    from coldpress.deploy.manage import delete as plan

    aws = connect(region, endpoint_url)
    carry_out(plan(aws, name), name, aws, yes=yes, dry_run=dry_run)
