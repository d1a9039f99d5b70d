"""The command line: one module per command, no logic in it."""

import signal
import sys
from types import FrameType

import click

from coldpress.errors import ColdpressError, Interrupted
from coldpress.version import __version__


class Commands(click.Group):
    """Imports a command's module only when it is asked for, so that `--help` is instant."""

    names = (
        "bench",
        "build",
        "clean",
        "cost",
        "delete",
        "demo",
        "deploy",
        "doctor",
        "export",
        "init",
        "invoke",
        "logs",
        "map",
        "plan",
        "prices",
        "prune",
        "push",
        "report",
        "rollback",
        "serve",
        "size",
        "status",
        "traffic",
        "verify",
    )

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.names:
            return None
        from importlib import import_module

        command = getattr(import_module(f"coldpress.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="coldpress")
def app() -> None:
    """Press any PyTorch model into a serverless function that cold-starts in a blink."""


def main() -> None:
    """Run the command line: 0 done, 1 failed, 2 used wrongly, 130 interrupted."""
    asked_to_stop: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        asked_to_stop.append(number)
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):  # a build that is told to stop cleans up after itself
        if signal.getsignal(number) is not signal.SIG_IGN:  # as in a script's background job
            signal.signal(number, interrupt)
    try:
        code = app.main(standalone_mode=False)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - what is not ours is raised again
        # A library that is interrupted while it is being imported fails with an error of its own.
        code = _interrupted() if asked_to_stop and not isinstance(error, Interrupted) else _failed(error)
    sys.exit(code)


def _failed(error: BaseException) -> int:
    match error:
        case click.UsageError():
            error.show()
            return 2
        case click.ClickException():
            error.show()
            return 1
        case ColdpressError():
            click.echo(f"Error: {error}", err=True)
            return error.exit_code
        case click.Abort():
            return _interrupted()
    raise error


def _interrupted() -> int:
    click.echo("interrupted; nothing was left behind", err=True)
    return 130
