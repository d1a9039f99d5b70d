"""Programs of others that judge images: how they are called, and a registry that is started for a while."""

import shutil
import socket
import subprocess
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


def silent(text: str) -> None:
    """Nobody looks at a test's progress."""
