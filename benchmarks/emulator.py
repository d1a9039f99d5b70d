"""What the local Lambda itself costs: an echo through it and through AWS's own emulator, in turns.

python benchmarks/emulator.py
"""

import argparse
import http.client
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console

from coldpress.emulate.sandbox import base_python
from coldpress.machine import cpu_name
from rie import PATH, emulator

ECHO = Path(__file__).parent / "handlers" / "echo"
RESULT = Path(__file__).parent / "results" / "emulator.json"
CONNECTIONS = 32
MANY = 200
EVENT = b'{"text": "hello, world"}'
_SCRIPT = """wrk.method = "POST"
wrk.body = '{"text": "hello, world"}'
wrk.path = "/2015-03-31/functions/function/invocations"
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--result", type=Path, default=RESULT)
    arguments = parser.parse_args()
    result = {"machine": {"cpu": cpu_name()}, **compare(arguments.rounds), **many_alive(MANY)}
    arguments.result.write_text(json.dumps(result, indent=1) + "\n")
    Console(stderr=True).print(result)


def compare(rounds: int, seconds: int = 3) -> dict[str, Any]:
    """Medians over rounds: one request after the other through each, then as many as go."""
    latency: dict[str, list[float]] = {"ours": [], "rie": []}
    rate: dict[str, list[float]] = {"ours": [], "rie": []}
    env = {"ECHO_PYTHON": base_python(), "PATH": "/usr/bin:/bin"}
    for _ in range(rounds):
        with emulator([str(ECHO / "bootstrap")], ECHO, env, None) as theirs:
            theirs.invoke(EVENT)
            latency["rie"].append(_one_after_the_other(theirs.port))
            rate["rie"].append(_as_many_as_go(theirs.port, 1, seconds))
        with serving("--concurrency", str(CONNECTIONS), "--provisioned", str(CONNECTIONS)) as (port, _):
            latency["ours"].append(_one_after_the_other(port))
            rate["ours"].append(_as_many_as_go(port, CONNECTIONS, seconds))
    return {
        "rounds": rounds,
        "connections": CONNECTIONS,
        "p50_ms": {name: round(median(one), 3) for name, one in latency.items()},
        "per_second": {name: round(median(one)) for name, one in rate.items()},
    }


def many_alive(count: int) -> dict[str, Any]:
    """What the emulator's own process has resident while so many sandboxes live."""
    flags = ("--concurrency", str(count), "--provisioned", str(count), "--memory", "128")
    with serving(*flags) as (port, process):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/_/status")
        status = json.loads(connection.getresponse().read())
        connection.close()
        resident = int(Path(f"/proc/{process}/status").read_text().split("VmRSS:")[1].split()[0]) / 1024
    alive = sum(sandbox["state"] in ("idle", "frozen") for sandbox in status["sandboxes"])
    return {"alive": alive, "resident_mb": round(resident, 1)}


@contextmanager
def serving(*flags: str) -> Iterator[tuple[int, int]]:
    """Our emulator in a process of its own: its port and its number."""
    command = [str(Path(sys.executable).parent / "coldpress"), "serve", str(ECHO), "--port", "0", *flags]
    log = subprocess.DEVNULL
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=log, text=True) as process:
        assert process.stderr is not None
        url = next(line.split()[-1] for line in process.stderr if "Function URL" in line)
        drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=log)
        try:
            yield int(url.rstrip("/").rpartition(":")[2]), process.pid
        finally:
            process.terminate()
            process.wait()
            drain.wait()


def _one_after_the_other(port: int, requests: int = 1000) -> float:
    """The median of one client's round trips, in ms."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    times = []
    for _ in range(requests):
        began = time.perf_counter()
        connection.request("POST", PATH, EVENT)
        answer = connection.getresponse().read()
        times.append((time.perf_counter() - began) * 1000)
        assert answer == EVENT
    connection.close()
    return median(times[requests // 10 :])


def _as_many_as_go(port: int, connections: int, seconds: int) -> float:
    """Requests a second over so many connections; every one must be answered well."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(_SCRIPT)
        script.flush()
        command = [
            "wrk",
            "-t1",
            f"-c{connections}",
            f"-d{seconds}s",
            "-s",
            script.name,
            f"http://127.0.0.1:{port}",
        ]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in said and "Socket errors" not in said, said
    found = re.search(r"Requests/sec:\s+([\d.]+)", said)
    assert found is not None
    return float(found[1])


if __name__ == "__main__":
    main()
