"""Running a command under AWS's Runtime Interface Emulator and timing its answers from outside."""

import http.client
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coldpress.emulate.sandbox import pinned

PROGRAM = Path(__file__).parent.parent / ".cache" / "aws-lambda-rie"
PATH = "/2015-03-31/functions/function/invocations"


class Emulator:
    """A running emulator. It starts the function's process at the first invocation."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def wait(self) -> None:
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
            except OSError:
                time.sleep(0.01)
            else:
                self._connection.connect()
                return
        raise TimeoutError("the emulator does not listen")

    def close(self) -> None:
        self._connection.close()

    def invoke(self, event: bytes) -> tuple[bytes, float]:
        """The answer and the milliseconds until it was here."""
        began = time.monotonic()
        self._connection.request("POST", PATH, event)
        answer = self._connection.getresponse().read()
        return answer, (time.monotonic() - began) * 1000


@contextmanager
def emulator(command: list[str], root: Path, env: dict[str, str], cpus: set[int] | None) -> Iterator[Emulator]:
    front, back = _free_port(), _free_port()
    addresses = ["--runtime-interface-emulator-address", f"127.0.0.1:{front}"]
    addresses += ["--runtime-api-address", f"127.0.0.1:{back}"]
    with pinned(cpus):
        process = subprocess.Popen(
            [str(PROGRAM), "--log-level", "error", *addresses, *command],
            cwd=root,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    running = Emulator(front)
    try:
        running.wait()
        yield running
    finally:
        running.close()
        _end(process.pid)
        process.wait()


def _end(pid: int) -> None:
    """Kill the emulator and what it started, which it puts into sessions of their own."""
    for child in _children(pid):
        _end(child)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _children(pid: int) -> list[int]:
    try:
        return [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:
        return []


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
