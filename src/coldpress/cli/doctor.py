"""coldpress doctor"""

import json
from dataclasses import asdict
from pathlib import Path

import click


@click.command()
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path), required=False)
@click.option("--memory", type=click.IntRange(128, 10240), help="MB.  [default: as bench recommends, or 1769]")
@click.option("--timeout", type=click.FloatRange(1, 900), help="Seconds.  [default: 30]")
@click.option(
    "--env", "variables", multiple=True, metavar="K=V", help="A variable of the function; repeat for more."
)
@click.option("--provisioned", type=click.IntRange(0), help="Sandboxes kept warm.  [default: 0]")
@click.option("--snapstart", is_flag=True, help="Start from a snapshot.")
@click.option("--tmp", "tmp_mb", type=click.IntRange(512, 10240), help="MB of /tmp.  [default: 512]")
@click.option("--efs", is_flag=True, help="A network file system is mounted.")
@click.option("--runtime", metavar="NAME", help="Lambda's.  [default: python3.13, or what the function needs]")
@click.option(
    "--arch", type=click.Choice(["x86_64", "arm64"]), help="Of the function on Lambda.  [default: DIR's]"
)
@click.option("--package", type=click.Choice(["auto", "zip", "image"]), help="What is deployed.  [default: auto]")
@click.option("--all", "show_all", is_flag=True, help="Show what is green, also when all is.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def doctor(
    context: click.Context,
    folder: Path | None,
    memory: int | None,
    timeout: float | None,
    variables: tuple[str, ...],
    provisioned: int | None,
    snapstart: bool,
    tmp_mb: int | None,
    efs: bool,
    runtime: str | None,
    arch: str | None,
    package: str | None,
    show_all: bool,
    as_json: bool,
) -> None:
    """What will hurt, and the fix: of the artifact in DIR, or without it of this machine and AWS account.

    Red will fail, yellow may hurt, green is well. Ends with 1 when anything is red. The options say how the
    function is to be run.

    \b
    Examples:
      coldpress doctor
      coldpress doctor out --memory 512 --env COLDPRESS_THREADS=1
      coldpress doctor out --snapstart --json | jq '.findings[] | select(.level != "green")'
    """
    from coldpress.deploy.options import pairs
    from coldpress.doctor import Settings, examine
    from coldpress.doctor.case import TIMEOUT, TMP_MB
    from coldpress.errors import UsageError

    given = {
        "--memory": memory is not None,
        "--timeout": timeout is not None,
        "--env": bool(variables),
        "--provisioned": provisioned is not None,
        "--snapstart": snapstart,
        "--tmp": tmp_mb is not None,
        "--efs": efs,
        "--runtime": runtime is not None,
        "--arch": arch is not None,
        "--package": package is not None,
    }
    if folder is None and any(given.values()):
        named = next(name for name, there in given.items() if there)
        raise UsageError(f"{named} is a function's: name its artifact too, as in coldpress doctor out {named} …")
    settings = Settings(
        memory_mb=memory,
        timeout=TIMEOUT if timeout is None else timeout,
        env=pairs("--env", variables),
        provisioned=provisioned or 0,
        snapstart=snapstart,
        tmp_mb=tmp_mb or TMP_MB,
        efs=efs,
        runtime=runtime,
        arch=arch,
        package=package or "auto",
    )
    findings = examine(folder, settings)
    reds = sum(one.level == "red" for one in findings)
    if as_json:
        yellows = sum(one.level == "yellow" for one in findings)
        counts = {"checks": len(findings), "red": reds, "yellow": yellows}
        click.echo(json.dumps({**counts, "findings": [asdict(one) for one in findings]}, indent=1))
    else:
        from rich.console import Console

        from coldpress.cli.doctor_table import findings_page

        Console().print(findings_page(findings, show_all))
    context.exit(1 if reds else 0)
