"""coldpress serve"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from coldpress.emulate.control.server import Functions
    from coldpress.emulate.front.server import Address, Local

#: what is said of each function when it is deployed, and not here
_OF_ONE = (
    "memory",
    "timeout",
    "provisioned",
    "variables",
    "tmp_mb",
    "layers",
    "stream",
    "cors",
    "snapstart",
    "at_once",
    "log_format",
    "queues",
    "batch_size",
    "batch_window",
)


@click.command()
@click.argument("target", metavar="DIR", required=False)
@click.option(
    "--functions",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Serve what is deployed by Lambda's API, kept in FOLDER.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=9000, show_default=True, help="0 takes any free one."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--memory", type=click.IntRange(128, 10240), default=1769, show_default=True, help="MB; 1769 buy one vCPU."
)
@click.option("--timeout", type=click.FloatRange(0.1, 900), default=30.0, show_default=True, help="Seconds.")
@click.option(
    "--concurrency", type=click.IntRange(1, 1000), default=10, show_default=True, help="Sandboxes at most."
)
@click.option("--provisioned", type=click.IntRange(0, 1000), default=0, show_default=True, help="Started ahead.")
@click.option(
    "--idle", type=click.FloatRange(0.1), default=300.0, show_default=True, help="Seconds until an idle one ends."
)
@click.option(
    "--env", "variables", multiple=True, metavar="K=V", help="A variable of the function; repeat for more."
)
@click.option("--network", is_flag=True, help="Let the function reach the network.")
@click.option(
    "--tmp", "tmp_mb", type=click.IntRange(512, 10240), default=512, show_default=True, help="MB of /tmp."
)
@click.option(
    "--layers", type=click.Path(path_type=Path, exists=True, file_okay=False), help="A folder to be /opt."
)
@click.option("--stream", is_flag=True, help="The URL's InvokeMode is RESPONSE_STREAM.")
@click.option(
    "--auth", type=click.Choice(["none", "iam"]), default="none", show_default=True, help="Who may use the URL."
)
@click.option("--cors", multiple=True, metavar="ORIGIN", help="An origin that browsers may call from; * for all.")
@click.option("--snapstart", is_flag=True, help="Start functions as SnapStart does: init, then restore.")
@click.option(
    "--at-once", type=click.IntRange(1, 64), default=1, show_default=True, help="Invocations in one sandbox."
)
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--dead-letters",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("dead-letters.jsonl"),
    show_default=True,
    help="Where events go that failed three times.",
)
@click.option(
    "--queue", "queues", multiple=True, metavar="URL", help="An SQS queue to take work from; repeat for more."
)
@click.option(
    "--batch-size",
    type=click.IntRange(1, 10_000),
    default=10,
    show_default=True,
    help="Messages at once, at most.",
)
@click.option(
    "--batch-window", type=click.IntRange(0, 300), default=0, show_default=True, help="Seconds to wait for more."
)
@click.pass_context
def serve(
    context: click.Context,
    target: str | None,
    functions: Path | None,
    port: int,
    host: str,
    memory: int,
    timeout: float,
    concurrency: int,
    provisioned: int,
    idle: float,
    variables: tuple[str, ...],
    network: bool,
    tmp_mb: int,
    layers: Path | None,
    stream: bool,
    auth: str,
    cors: tuple[str, ...],
    snapstart: bool,
    at_once: int,
    log_format: str,
    dead_letters: Path,
    queues: tuple[str, ...],
    batch_size: int,
    batch_window: int,
) -> None:
    """Run the function in DIR as Lambda would: the Invoke API, a Function URL, and a page to try it on.

    DIR is an artifact, or any folder with a `bootstrap`; image:NAME and DIR/image run in podman. Ctrl-C ends it.
    The function's log goes to standard error. With --functions instead of DIR, functions are deployed to it.

    \b
    Examples:
      coldpress serve out
      coldpress serve out --memory 885 --provisioned 2
      curl http://127.0.0.1:9000/ -d '{"text": "hi"}'
      coldpress serve out --queue https://sqs.eu-west-1.amazonaws.com/123456789012/work
      coldpress serve --functions ~/.local-lambda
    """
    from coldpress.emulate.front.function_url import UrlSettings
    from coldpress.emulate.front.server import Address
    from coldpress.emulate.queues.batching import Batching
    from coldpress.emulate.sandboxes.settings import Settings
    from coldpress.emulate.serving import Options, find_target, local_credentials, make_local, make_starter, run
    from coldpress.errors import UsageError

    if (target is None) == (functions is None):
        raise UsageError("name what is served: DIR, or --functions FOLDER for what is deployed to it; one of them")
    if functions is not None:
        _only_for_all(context)
        letters = dead_letters if _was_said(context, "dead_letters") else None
        _serve_functions(functions, Address(host, port), concurrency, idle, network, auth == "iam", letters)
        return
    assert target is not None
    env = _variables(variables)
    if stream:
        env.setdefault("COLDPRESS_STREAM", "on")
    found = find_target(target)
    settings = Settings(
        name=found.name,
        memory_mb=memory,
        timeout=timeout,
        concurrency=max(concurrency, provisioned),
        provisioned=provisioned,
        idle=idle,
        env=env,
        at_once=at_once,
        snap_start=snapstart,
        json_log=log_format == "json",
    )
    url = UrlSettings(local_credentials() if auth == "iam" else None, cors, stream)
    batching = Batching(batch_size, batch_window)
    options = Options(Address(host, port), url, network, tmp_mb, layers, dead_letters, queues, batching)
    starter = make_starter(found, settings, options)
    run(lambda: make_local(starter, found, settings, options), _started)


def _was_said(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _only_for_all(context: click.Context) -> None:
    from coldpress.errors import UsageError

    for option in context.command.params:
        if option.name in _OF_ONE and _was_said(context, option.name):
            raise UsageError(
                f"{option.opts[0]} is said of each function when it is deployed: leave it out with --functions"
            )


def _serve_functions(
    folder: Path,
    address: "Address",
    concurrency: int,
    idle: float,
    network: bool,
    signed: bool,
    dead_letters: Path | None,
) -> None:
    from coldpress.emulate.control.fleets import FleetOptions
    from coldpress.emulate.control.server import Functions
    from coldpress.emulate.serving import local_credentials, run

    options = FleetOptions(concurrency, idle, network)
    run(lambda: Functions(folder, address, options, local_credentials(), signed, dead_letters), _started_functions)


def _started_functions(local: "Functions", url: str) -> None:
    count = len(local.plane.store.functions)
    click.echo(f"{local.folder} is served, with {count} function{'' if count == 1 else 's'}", err=True)
    click.echo(f"  Lambda's API   --endpoint-url {url}", err=True)
    click.echo(f"  what runs      {url}/_/status", err=True)
    if not local.signed and local.address.host not in ("127.0.0.1", "localhost", "::1"):
        click.echo(
            f"  whoever reaches {local.address.host} can deploy and run code here: let them sign with --auth iam",
            err=True,
        )
    local.plane.fleets.log_listeners.append(
        lambda name, entries: click.echo("\n".join(f"{name}: {entry.line}" for entry in entries), err=True)
    )


def _started(local: "Local", url: str) -> None:
    """Say where it is and what cannot be held here, then print the function's log as it comes."""
    from coldpress.emulate.queues.fed import FedFleet

    settings = local.fleet.settings
    click.echo(
        f"{settings.name} is served, {settings.memory_mb} MB, at most {settings.concurrency} at once", err=True
    )
    click.echo(f"  Function URL   {url}/", err=True)
    click.echo(f"  Invoke API     --endpoint-url {url} --function-name {settings.name}", err=True)
    click.echo(f"  the page       {url}/_/", err=True)
    if isinstance(local.fleet, FedFleet):
        for poller in local.fleet.pollers:
            click.echo(f"  takes work of  {poller.queue.arn}", err=True)
    for one in local.fleet.starter.held:
        if not one.enforced:
            click.echo(f"  not as on Lambda: {one.what}: {one.how}", err=True)
    local.fleet.log.listeners.append(
        lambda entries: click.echo("\n".join(entry.line for entry in entries), err=True)
    )


def _variables(given: tuple[str, ...]) -> dict[str, str]:
    from coldpress.errors import UsageError

    made = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise UsageError(f"--env {one!r} is not NAME=VALUE")
        made[name] = value
    return made
