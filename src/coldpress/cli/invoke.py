"""coldpress invoke"""

import sys
from pathlib import Path

import click


@click.command()
@click.argument("artifact", metavar="DIR|aws:NAME")
@click.option("--data", help="The event, as JSON.")
@click.option(
    "--event", "event_file", type=click.Path(path_type=Path), help="A file that holds the event; - for stdin."
)
@click.option(
    "--memory",
    type=click.IntRange(128, 10240),
    default=1769,
    show_default=True,
    help="MB; 1769 buy one vCPU.",
)
@click.option("--timeout", type=click.FloatRange(0.1, 900), default=30.0, show_default=True, help="Seconds.")
@click.option("--stream", is_flag=True, help="As by InvokeMode RESPONSE_STREAM; pieces are printed as they come.")
@click.option("--version", metavar="VERSION", default="live", show_default=True, help="Of aws:NAME, or an alias.")
@click.option("--region", help="Of aws:NAME.  [default: the credentials' own]")
@click.option("--endpoint-url", metavar="URL", help="Of aws:NAME: the local Lambda, or a stand-in for AWS.")
def invoke(
    artifact: str,
    data: str | None,
    event_file: Path | None,
    memory: int,
    timeout: float,
    stream: bool,
    version: str,
    region: str | None,
    endpoint_url: str | None,
) -> None:
    """Start the function in DIR as Lambda would, or take the deployed one NAME: send an event, print the answer.

    The answer goes to standard output; duration, init duration and peak memory to standard error.

    \b
    Examples:
      coldpress invoke out --data '{"text": "hi"}'
      coldpress invoke out --event events/function_url.json
      coldpress invoke out --data '{"text": "hi"}' --stream
      coldpress invoke aws:minilm --data '{"text": "hi"}'
    """
    from coldpress.artifact import Artifact
    from coldpress.emulate.sandbox import Sandbox
    from coldpress.errors import FunctionError, UsageError

    if (data is None) == (event_file is None):
        raise UsageError('give the event either as --data \'{"text": "hi"}\' or as --event FILE')
    event = data.encode() if data is not None else _read(event_file)
    if artifact.startswith("aws:"):
        _ask_deployed(artifact.removeprefix("aws:"), version, event, stream, region, endpoint_url)
        return
    opened = Artifact.open(artifact)
    env = {"COLDPRESS_STREAM": "on"} if stream else {}
    root = opened.function_folder
    with Sandbox(root, memory_mb=memory, timeout=timeout, python=opened.python, env=env) as sandbox:
        answer = sandbox.invoke(event, lambda piece: _print(piece.data))
        log = sandbox.log()
    unsaid = b"" if answer.streamed else answer.body
    _print(unsaid if answer.body.endswith(b"\n") else unsaid + b"\n")
    click.echo(log, err=True, nl=False)
    click.echo(
        f"duration {answer.duration_ms:.1f} ms, init {answer.init_ms:.1f} ms, peak memory {answer.peak_mb:.1f} MB",
        err=True,
    )
    if not answer.ok:
        raise FunctionError("the function reported an error; its log is above")


def _ask_deployed(
    name: str, version: str, event: bytes, stream: bool, region: str | None, endpoint_url: str | None
) -> None:
    from coldpress.deploy.aws import connect
    from coldpress.deploy.calling import ask, ask_for_pieces
    from coldpress.errors import FunctionError

    aws = connect(region, endpoint_url)
    if stream:
        problem = ask_for_pieces(aws, name, version, event, _print)
        _print(b"\n")
        if problem:
            raise FunctionError(f"{name} failed: {problem}")
        return
    answer = ask(aws, name, version, event)
    _print(answer.body if answer.body.endswith(b"\n") else answer.body + b"\n")
    click.echo(answer.log, err=True, nl=False)
    click.echo(f"version {answer.version}, {answer.round_trip_ms:.1f} ms from here and back", err=True)
    if not answer.ok:
        raise FunctionError(f"{name} reported an error; the end of its log is above")


def _print(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.flush()


def _read(path: Path | None) -> bytes:
    from coldpress.errors import UsageError

    if path is None or str(path) == "-":
        return sys.stdin.buffer.read()
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"--event {path} cannot be read: {error.strerror}") from None
