"""coldpress deploy"""

from pathlib import Path
from typing import Any

import click

from coldpress.cli.wanted_options import wanted_from, wanted_options


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@wanted_options
@click.option(
    "--bucket",
    "buckets",
    multiple=True,
    metavar="S3",
    help="Ask about objects that are made below s3://bucket/prefix; may be repeated.",
)
@click.option("--region", help="[default: the credentials' own]")
@click.option("--endpoint-url", metavar="URL", help="The local Lambda, or a stand-in for AWS.")
@click.option("--adopt", is_flag=True, help="Replace a function of that name that coldpress did not make.")
@click.option("--check/--no-check", default=True, show_default=True, help="Its answers, before it is live.")
@click.option("--doctor/--no-doctor", default=True, show_default=True, help="Look first for what will hurt.")
@click.option("--canary", metavar="SHARE", help="Give it this much of the traffic first, as 10%, and watch it.")
@click.option("--for", "lasts", metavar="TIME", default="5m", show_default=True, help="How long it is watched.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and stop.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def deploy(
    folder: Path,
    buckets: tuple[str, ...],
    region: str | None,
    endpoint_url: str | None,
    adopt: bool,
    check: bool,
    doctor: bool,
    canary: str | None,
    lasts: str,
    dry_run: bool,
    yes: bool,
    **said: Any,
) -> None:
    """Make or update the function NAME from the package in DIR, with all that it needs and nothing else.

    Shows first what will hurt, what is created, changed and kept, and what it will cost. Running it again changes
    nothing; interrupted anywhere, running it again finishes the work. Clients call the alias `live`, which points
    to a version that never changes; a new one answers the artifact's own samples before it is live, and goes back
    by itself if its canary does harm.

    \b
    Examples:
      coldpress deploy out --name minilm --dry-run
      coldpress deploy out --name minilm --url token --yes
      coldpress deploy out --name minilm --canary 10% --for 5m
      coldpress deploy out --name minilm --queue arn:aws:sqs:eu-west-1:123456789012:jobs --sink s3://answers/minilm
    """
    from coldpress.cli.deploy_table import carry_out, show_findings, show_live, show_price, warn_if_public
    from coldpress.deploy.aws import connect
    from coldpress.deploy.canary import Canary
    from coldpress.deploy.places import Place
    from coldpress.deploy.plan import plan

    tried = Canary.parse(canary, lasts) if canary else None
    places = tuple(Place.parse("--bucket", one) for one in buckets)
    wanted = wanted_from(folder, said, adopt=adopt, check=check, canary=tried, buckets=places)
    aws = connect(region, endpoint_url)
    if doctor:
        show_findings(wanted)
    warn_if_public(wanted)
    made = plan(aws, wanted)
    show_price(aws, wanted)
    facts = carry_out(made, wanted.name, aws, yes=yes, dry_run=dry_run)
    if facts is not None:
        show_live(facts, wanted.name)
