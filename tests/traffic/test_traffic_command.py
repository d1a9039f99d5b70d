"""The command as a person runs it: tables, JSON, charts, Ctrl-C, and errors that say what to do."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from coldpress.cli.traffic import traffic
from coldpress.errors import UsageError
from coldpress.traffic.send import Moment
from coldpress.traffic.show import watching

Serve = Callable[..., str]
OK = (
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nx-coldpress-duration-ms: 1.5\r\nx-coldpress-billed-ms: 2\r\n%b\r\n{}"
)
#: this command alone, with the signals and errors of the real command line
SCRIPT = "from coldpress import cli; cli.Commands.names = ('traffic',); cli.main()"


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-c", SCRIPT, "traffic", *map(str, arguments)]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=60, check=False)


async def function(number: int, request: bytes) -> bytes:
    return OK % (b"x-coldpress-init-ms: 20\r\n" if number == 0 else b"")


def test_a_run(serve: Serve, tmp_path: Path) -> None:
    arguments = ("--rate", "100", "--duration", "500ms", "--data", '{"text": "hi"}', "--json", "-")
    done = run(serve(function), *arguments, "--chart", tmp_path / "out.html")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["good"] == figures["scheduled"] > 20
    assert figures["cold"]["count"] == 1
    assert sum(count for _, count in figures["histogram"]) == figures["good"]
    for part in ("latency, from the scheduled time", "service, from the actual sending", "cold starts", "p99.9"):
        assert part in done.stderr
    assert "</svg>" in (tmp_path / "out.html").read_text()


def test_ctrl_c(serve: Serve, tmp_path: Path) -> None:
    enough = threading.Event()

    async def counts(number: int, request: bytes) -> bytes:
        if number == 20:
            enough.set()
        return await function(number, request)

    arguments = command(serve(counts), "--rate", "50", "--duration", "1h", "--json", tmp_path / "out.json")
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as process:
        assert enough.wait(20)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "interrupted after" in said
    assert "Traceback" not in said
    figures = json.loads((tmp_path / "out.json").read_text())
    assert figures["interrupted"]
    assert figures["good"] >= 20


@pytest.mark.parametrize(("terminal", "shown"), [(True, 3), (False, 2)])
def test_what_is_shown_meanwhile(terminal: bool, shown: int) -> None:
    """Every moment on a terminal; elsewhere a line every five seconds."""
    said = StringIO()
    with watching(Console(file=said, force_terminal=terminal, width=120)) as watch:
        for at in (4.0, 6.0, 12.0):
            watch(Moment(at, 700, 650, 50, 3, None, 99.5, 1.25, None))
    assert said.getvalue().count("not told") >= shown
    assert "99.5" in said.getvalue()
    assert ("┃" in said.getvalue()) == terminal


def test_nothing_answered_well(serve: Serve) -> None:
    async def fails(number: int, request: bytes) -> bytes:
        return b"HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n"

    done = run(serve(fails), "--rate", "50", "--duration", "100ms", "--even")
    assert done.returncode == 1
    assert "none of the 5 requests was answered well" in done.stderr
    assert "502" in done.stderr
    assert "not told" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "say what to send"),
        (["--rate", "5"], "say what to send"),
        (["--rate", "0", "--duration", "1s"], "a rate of 0"),
        (["--rate", "5", "--duration", "1 fortnight"], "'1 fortnight' is not a duration"),
        (["--rate", "5", "--duration", "1s", "--trace", "x.csv"], "a trace has its own times"),
        (["--rate", "5", "--duration", "1s", "--chart", "x.png"], "must end in .svg or .html"),
        (["--rate", "5", "--duration", "1s", "--json", "/nowhere/x.json"], "there is no folder /nowhere"),
        (["--rate", "5", "--duration", "1s", "--data", "{"], "is not JSON"),
        (["--trace", "nowhere.csv"], "cannot be read"),
    ],
)
def test_used_wrongly(arguments: list[str], named: str) -> None:
    """In this process: starting ten would take longer than all else here."""
    done = CliRunner().invoke(traffic, ["http://127.0.0.1:1/", *arguments])
    assert isinstance(done.exception, UsageError)
    assert named in str(done.exception)
