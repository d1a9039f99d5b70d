"""The command line: one module per command, no logic in it."""

import signal
import sys
from types import FrameType

import click

from coldpress.errors import ColdpressError
from coldpress.version import __version__


class Commands(click.Group):
    """Imports a command's module only when it is asked for, so that `--help` is instant."""

    names = ("build", "clean", "demo", "init", "invoke", "verify")

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
    # A build that is told to stop cleans up after itself, as it does on Ctrl-C.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        code = app.main(standalone_mode=False)
    except click.UsageError as error:
        error.show()
        code = 2
    except click.ClickException as error:
        error.show()
        code = 1
    except ColdpressError as error:
        click.echo(f"Error: {error}", err=True)
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted; nothing was left behind", err=True)
        code = 130
    sys.exit(code)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
