"""The local Lambda under load while sandboxes are killed at random, one every second.

Every request must get exactly one answer: its own event back, or a proper error. Afterwards nothing may be left:
no process, no control group, no temporary file, and no memory that grew.

    python benchmarks/emulator_soak.py            (ten minutes; or: --seconds 30)
"""

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rich.console import Console

ECHO = Path(__file__).parent / "handlers" / "echo"
RESULT = Path(__file__).parent / "results" / "emulator_soak.json"
PATH = "/2015-03-31/functions/function/invocations"
RATE = 50
SETTLED = 5.0
MOST_GROWTH = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--result", type=Path, default=RESULT)
    arguments = parser.parse_args()
    result = soak(arguments.seconds)
    arguments.result.write_text(json.dumps(result, indent=1) + "\n")
    Console(stderr=True).print(result)
    if result["wrong"]:
        sys.exit("\n".join(result["wrong"]))


def soak(seconds: float) -> dict[str, Any]:
    """Serve, load and kill for so long, and say what came of it."""
    command = [str(Path(sys.executable).parent / "coldpress"), "serve", str(ECHO), "--port", "0"]
    command += ["--concurrency", "20", "--idle", "10", "--env", "ECHO_SECONDS=0.02"]
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "TMPDIR": folder}
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder, env=env)
        assert process.stderr is not None
        url = next(line.split()[-1] for line in process.stderr if "Function URL" in line)
        port = int(url.rstrip("/").rpartition(":")[2])
        reader = threading.Thread(target=lambda: [None for _ in process.stderr or ()])
        reader.start()
        answers, kills, settled = _load(process.pid, port, seconds)
        grown = _resident_mb(process.pid) / settled - 1
        launched = _children(process.pid)
        process.send_signal(signal.SIGTERM)
        code = process.wait(30)
        reader.join()
        process.stderr.close()
        left = [*Path(folder).iterdir()]
    wrong = [
        f"{count} requests: {kind}"
        for kind, count in answers.items()
        if kind not in ("echo", "error", "throttled")
    ]
    wrong += [f"process {pid} is left" for pid in launched if Path(f"/proc/{pid}").exists()]
    wrong += [f"{path} is left" for path in left]
    wrong += [f"{path} is left" for path in Path("/sys/fs/cgroup").glob(f"**/coldpress-{process.pid}-*")]
    wrong += [f"it ended with {code}"] if code else []
    wrong += [f"it grew by {grown:.1%} from {settled:.1f} MB"] if grown > MOST_GROWTH else []
    return {
        "seconds": seconds,
        "rate": RATE,
        "kills": kills,
        "answers": dict(answers),
        "resident_mb": round(settled, 1),
        "grown": round(grown, 4),
        "wrong": wrong,
    }


def _load(pid: int, port: int, seconds: float) -> tuple[Counter[str], int, float]:
    """Requests at a steady rate, kills every second; how each ended, how many kills, memory once settled."""
    rng = random.Random(0)
    answers: Counter[str] = Counter()
    kills, settled = 0, 0.0
    began = time.monotonic()
    with ThreadPoolExecutor(64) as pool:
        waiting = []
        for number in range(int(seconds * RATE)):
            time.sleep(max(0.0, began + number / RATE - time.monotonic()))
            waiting.append(pool.submit(_ask, port, number))
            if number % RATE == RATE // 2:
                kills += _kill_one(pid, rng)
            if not settled and time.monotonic() - began > min(SETTLED, seconds / 3):
                settled = _resident_mb(pid)
        answers.update(one.result() for one in waiting)
    return answers, kills, settled


def _ask(port: int, number: int) -> str:
    """One request on a connection of its own, read to its end: what kind of answer it got."""
    event = json.dumps({"number": number, "room": "x" * (number % 3000)}).encode()
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(event)}\r\n\r\n"
    data = b""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=40) as connection:
            connection.sendall(head.encode() + event)
            while part := connection.recv(65536):
                data += part
    except OSError as error:
        return f"lost: {error}"
    top, _, body = data.partition(b"\r\n\r\n")
    status = top[9:12]
    if data.count(b"HTTP/1.1 ") != 1:
        return f"answered {data.count(b'HTTP/1.1 ')} times"
    if status == b"200" and b"X-Amz-Function-Error" not in top:
        return "echo" if body == event else "somebody else's answer"
    if status == b"200" and json.loads(body)["errorType"] == "Runtime.ExitError":
        return "error"
    return "throttled" if status == b"429" else f"status {status.decode()}: {body[:200].decode()}"


def _kill_one(pid: int, rng: random.Random) -> int:
    """Kill a sandbox's function, its first process or its launcher."""
    launchers = _children(pid)
    if not launchers:
        return 0
    chain = [rng.choice(launchers)]
    while below := _children(chain[-1]):
        chain.append(below[0])
    try:
        os.kill(rng.choice(chain), signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return 1


def _children(pid: int) -> list[int]:
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


if __name__ == "__main__":
    main()
