"""coldpress deploy"""

from pathlib import Path

import click


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="The function's.")
@click.option("--region", help="[default: the credentials' own]")
@click.option("--memory", type=click.IntRange(128, 10240), help="MB.  [default: as bench recommends, or 1769]")
@click.option("--timeout", type=click.IntRange(1, 900), default=30, show_default=True, help="Seconds.")
@click.option("--runtime", default="python3.13", show_default=True, help="Lambda's Python.")
@click.option("--env", "variables", multiple=True, metavar="K=V", help="A variable; may be repeated.")
@click.option("--tmp", type=click.IntRange(512, 10240), default=512, show_default=True, help="MB of /tmp.")
@click.option("--snapstart", is_flag=True, help="Start from a snapshot.")
@click.option("--log", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--retention", type=int, default=14, show_default=True, help="Days that its log is kept.")
@click.option("--tag", "tags", multiple=True, metavar="K=V", help="May be repeated.")
@click.option("--role", metavar="ARN", help="[default: one is made that may write its own log, and nothing else]")
@click.option(
    "--url",
    type=click.Choice(["iam", "token", "public", "none"]),
    default="iam",
    show_default=True,
    help="Who may call its URL: whom IAM allows, who has the token, everybody.",
)
@click.option("--provisioned", type=click.IntRange(0), default=0, show_default=True, help="Sandboxes kept ready.")
@click.option("--reserved", type=click.IntRange(0), help="Requests at once, at most.")
@click.option("--endpoint-url", metavar="URL", help="The local Lambda, or a stand-in for AWS.")
@click.option("--check/--no-check", default=True, show_default=True, help="Its answers, before it is live.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and stop.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def deploy(
    folder: Path,
    name: str,
    region: str | None,
    memory: int | None,
    timeout: int,
    runtime: str,
    variables: tuple[str, ...],
    tmp: int,
    snapstart: bool,
    log: str,
    retention: int,
    tags: tuple[str, ...],
    role: str | None,
    url: str,
    provisioned: int,
    reserved: int | None,
    endpoint_url: str | None,
    check: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Make or update the function NAME from the zip in DIR, with all that it needs and nothing else.

    Shows first what is created, changed and kept. Running it again changes nothing; interrupted anywhere, running
    it again finishes the work. Clients call the alias `live`, which points to a version that never changes.

    \b
    Examples:
      coldpress deploy out --name minilm --dry-run
      coldpress deploy out --name minilm --url token --yes
    """
    from coldpress.artifact import Artifact
    from coldpress.cli.deploy_table import carry_out, show_live, warn_if_public
    from coldpress.deploy.aws import connect
    from coldpress.deploy.options import pairs, recommended_memory
    from coldpress.deploy.plan import plan
    from coldpress.deploy.wanted import Wanted

    artifact = Artifact.open(folder)
    wanted = Wanted(
        name=name,
        artifact=artifact,
        memory_mb=memory or recommended_memory(artifact),
        timeout=timeout,
        runtime=runtime,
        env=pairs("--env", variables),
        tmp_mb=tmp,
        snapstart=snapstart,
        json_log=log == "json",
        retention_days=retention,
        tags=pairs("--tag", tags),
        role=role,
        url=url,
        provisioned=provisioned,
        reserved=reserved,
        check=check,
    )
    aws = connect(region, endpoint_url)
    warn_if_public(wanted)
    facts = carry_out(plan(aws, wanted), name, aws, yes=yes, dry_run=dry_run)
    if facts is not None:
        show_live(facts, name)
