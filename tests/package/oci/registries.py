"""Programs of others that judge images: how they are called, and a registry that is started for a while."""

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3

CONFIG = """version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {folder}}}, delete: {{enabled: true}}}}
http: {{addr: "127.0.0.1:{port}"{more}}}
{auth}
"""

#: runs in a container: the official emulator, the function, one event; prints the answer and its own time
ASK = """
import json, subprocess, sys, time, urllib.request
event = sys.argv[1].encode()
began = time.monotonic()
rie = ["aws-lambda-rie", "--runtime-interface-emulator-address", "127.0.0.1:8080"]
process = subprocess.Popen([*rie, "--runtime-api-address", "127.0.0.1:9001", "/var/task/bootstrap"], stdout=2)
address = "http://127.0.0.1:8080/2015-03-31/functions/function/invocations"
while True:
    try:
        answer = urllib.request.urlopen(urllib.request.Request(address, data=event), timeout=20).read()
        break
    except OSError:
        time.sleep(0.001)
print(json.dumps({"ms": (time.monotonic() - began) * 1000, "answer": answer.decode()}))
process.kill()
"""


def needs(*programs: str) -> None:
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


def run(*command: object) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def serve(folder: Path, auth: str = "", more: str = "") -> Iterator[str]:
    """A docker-registry: its host and port."""
    needs("docker-registry")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = folder / "config.yml"
    config.write_text(CONFIG.format(folder=folder / "data", port=port, auth=auth, more=more))
    process = subprocess.Popen(["docker-registry", "serve", str(config)], stderr=subprocess.PIPE)
    address = f"127.0.0.1:{port}"
    try:
        pool = urllib3.PoolManager(retries=False)
        for _ in range(200):
            try:
                pool.request("GET", f"http://{address}/v2/")
                break
            except urllib3.exceptions.HTTPError:
                time.sleep(0.05)
        yield address
    finally:
        process.terminate()
        process.communicate()


def serve_locked(folder: Path, name: str, password: str) -> Iterator[str]:
    """One that wants a name and a password."""
    needs("docker-registry")
    code = "import crypt, sys; print(crypt.crypt(sys.argv[1], crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16)))"
    (folder / "passwords").write_text(f"{name}:{run(sys.executable, '-W', 'ignore', '-c', code, password)}")
    yield from serve(folder, f"auth: {{htpasswd: {{realm: tests, path: {folder}/passwords}}}}")


def silent(text: str) -> None:
    """Nobody looks at a test's progress."""


def digest_by_others(data: bytes) -> str:
    return (
        "sha256:" + subprocess.run(["sha256sum"], input=data, capture_output=True, check=True).stdout.decode()[:64]
    )
