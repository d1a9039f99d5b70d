"""How deployments look on a terminal, and what they ask there."""

import sys

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from coldpress.cli.doctor_table import findings_page
from coldpress.deploy.aws import Aws
from coldpress.deploy.manage import Status
from coldpress.deploy.plan import Deployment
from coldpress.deploy.price import expected
from coldpress.deploy.steps import CHANGE, CHECK, CREATE, DELETE, KEEP, Facts
from coldpress.deploy.wanted import Wanted
from coldpress.doctor import Settings, examine
from coldpress.errors import DeployError, Interrupted, UsageError

_STYLES = {CREATE: "green", CHANGE: "yellow", DELETE: "red", KEEP: "dim", CHECK: "cyan"}


def carry_out(made: Deployment, name: str, aws: Aws, *, yes: bool, dry_run: bool = False) -> Facts | None:
    """Shown, asked for, done; None where there was nothing to do, or it was only looked at."""
    _show_steps(made, name, aws)
    if dry_run:
        return None
    if not made.changes:
        return made.facts
    _confirm(name, yes)
    if made.facts.token:  # before anything is done: whatever happens then, it has been seen
        click.echo(f"The bearer token, shown this once: {made.facts.token}", err=True)
    try:
        return made.run(lambda step: _say(f"{step.verb} {step.what}"), lambda words: _say(f"  {words}"))
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted; what was done stays. Run it again to finish it, or undo it: coldpress delete {name}"
        ) from None


def _say(words: str) -> None:
    click.echo(words, err=True)


def show_findings(wanted: Wanted) -> None:
    """What will hurt, and the fix; what would fail on Lambda stops here."""
    settings = Settings(
        memory_mb=wanted.memory_mb,
        timeout=float(wanted.timeout),
        env=wanted.env,
        provisioned=wanted.provisioned or (wanted.autoscale.range.most if wanted.autoscale else 0),
        snapstart=wanted.snapstart,
        tmp_mb=wanted.tmp_mb,
        runtime=None if wanted.image else wanted.runtime,
        package="image" if wanted.image else "zip",
    )
    findings = [one for one in examine(wanted.artifact.path, settings) if one.level != "green"]
    if findings:
        Console(stderr=True).print(findings_page(findings, show_all=False))
    if any(one.level == "red" for one in findings):
        raise DeployError(
            "what is red above would fail on Lambda: fix it, or say --no-doctor to go on all the same"
        )


def show_price(aws: Aws, wanted: Wanted) -> None:
    for line in expected(aws, wanted):
        _say(f"  {line}")


def warn_if_public(wanted: Wanted) -> None:
    if wanted.url == "public":
        click.echo(
            f"Its URL is open to everybody, who then decides what it costs; at most {wanted.concurrency} requests "
            f"at once are taken.",
            err=True,
        )


def show_live(facts: Facts, name: str) -> None:
    click.echo(f"{name}: version {facts.version} is live", err=True)
    if facts.url:
        click.echo(facts.url)


def show_status(found: Status) -> None:
    table = Table(title=found.name, title_justify="left", box=box.SIMPLE_HEAD, show_header=False)
    live = f"version {found.live}" if found.live else "nothing"
    for version, weight in found.weights.items():
        live += f"; {weight:.0%} to version {version}"
    table.add_row("live", live)
    table.add_row("versions", ", ".join(found.versions) or "none")
    table.add_row("function", f"{found.memory_mb:,} MB, {found.runtime}, {found.state}")
    table.add_row("URL", f"{found.url} ({found.auth})" if found.url else "none")
    table.add_row("kept ready", found.provisioned or "none")
    if found.queues:
        table.add_row("queues", "\n".join(found.queues))
    if found.spent is not None:
        words = f"${found.spent.dollars:,.4f} for {found.spent.requests:,} requests"
        table.add_row("this month", f"{words} ({found.spent.note})")
    table.add_row("last errors", Text("\n".join(found.errors) or "none in a day"))
    Console().print(table)


def _show_steps(made: Deployment, name: str, aws: Aws) -> None:
    console = Console(stderr=True)
    where = aws.endpoint_url or f"account {aws.account}, {aws.region}"
    table = Table(title=f"{name}: {where}", title_justify="left", box=box.SIMPLE_HEAD, show_header=False)
    for step in made.steps:
        table.add_row(step.verb, step.what, step.detail, style=_STYLES[step.verb])
    console.print(table)
    if not made.changes:
        console.print("It is as wanted: nothing to do.")


def _confirm(name: str, yes: bool) -> None:
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError("there is no terminal to ask on: say --yes to do it, or --dry-run to look only")
    click.confirm(f"Do it, for {name}?", abort=True, err=True)
