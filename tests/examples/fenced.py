"""What a page tells people to type, typed: its fenced blocks, in order, and what they are said to print."""

import os
import re
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: as pages write it; each run takes a free one instead
_PORT = "9000"
_BLOCK = re.compile(r"^```(\w+(?: \w+)?)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
#: what differs from machine to machine: scores and times
_MEASURED = re.compile(r"\d+\.\d+|\d+(?= ms)")
_NAMED = re.compile(r"# ([\w.]+)\n")


@dataclass(frozen=True)
class Block:
    #: what stands behind the fence: `sh`, `python`, …; `sh aws` needs an account
    kind: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(kind, text) for kind, text in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def run_page(page: Path, folder: Path) -> list[str]:
    """Run every `sh` block in `folder`; what each printed.

    A `text` block says what the one before it prints. A block that begins with a file's name is that file.
    """
    printed: list[str] = []
    for block in blocks(page):
        if block.kind == "sh":
            printed.append(run_shell(block.text, folder))
        elif block.kind == "text":
            assert _words(printed[-1]) == _words(block.text), f"{page} shows what is not printed"
        elif named := _NAMED.match(block.text):
            (folder / named[1]).write_text(block.text, encoding="utf-8")
    return printed


def run_shell(script: str, folder: Path, timeout: float = 300) -> str:
    """What `script` prints. It must end well, and whatever it leaves running ends with it."""
    script = script.replace(_PORT, str(_free_port()))
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    env["OMP_WAIT_POLICY"] = "PASSIVE"  # where cores are busy, torch's threads wait for each other by spinning
    said, errors = folder / ".said", folder / ".errors"
    # Files, not pipes: a server that is left behind would hold a pipe open.
    with said.open("w") as out, errors.open("w") as err:
        shell = subprocess.Popen(
            ["bash", "-euc", script], cwd=folder, env=env, stdout=out, stderr=err, start_new_session=True
        )
        try:
            code = shell.wait(timeout)
        finally:
            _end_group(shell.pid)
            shell.wait()
    assert code == 0, f"{script}\n{errors.read_text()}"
    return said.read_text()


def _words(text: str) -> list[str]:
    return _MEASURED.sub("#", text).split()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _end_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return
