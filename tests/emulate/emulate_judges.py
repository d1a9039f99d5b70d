"""The same function under the official emulator and under ours, asked the same things."""

import json
import os
import re
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from coldpress.emulate.sandbox import base_python
from coldpress.emulate.sandboxes.settings import Settings
from coldpress.emulate.serving import running
from rie import PATH as PATH
from rie import emulator

FUNCTIONS = Path(__file__).parent / "functions"
ECHO = Path(__file__).parent.parent.parent / "benchmarks" / "handlers" / "echo"
TIMEOUT = 2


@dataclass(frozen=True)
class Answer:
    status: int
    body: str
    function_error: str | None = None
    seconds: float = 0.0

    @property
    def value(self) -> Any:
        return json.loads(self.body)


def place(name: str, folder: Path) -> Path:
    """A function of these tests in a folder of its own, with AWS's client where it needs it."""
    made = folder / name
    shutil.copytree(FUNCTIONS / name, made, dirs_exist_ok=True)
    if name == "judged":
        for package in ("awslambdaric", "simplejson", "snapshot_restore_py", "runtime_client"):
            spec = find_spec(package)
            assert spec is not None and spec.origin is not None
            if spec.submodule_search_locations:
                shutil.copytree(Path(spec.origin).parent, made / "packages" / package)
            else:
                (made / "packages").mkdir(exist_ok=True)
                shutil.copy(spec.origin, made / "packages")
    return made


def post(url: str, body: bytes, headers: dict[str, str] | None = None) -> Answer:
    began = time.monotonic()
    request = urllib.request.Request(url, data=body, headers=headers or {}, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            text, status, error = response.read(), response.status, response.headers.get("X-Amz-Function-Error")
    except urllib.error.HTTPError as refused:
        text, status, error = refused.read(), refused.code, None
    return Answer(status, text.decode(), error, time.monotonic() - began)


def without_ids(text: str) -> str:
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", text)


@contextmanager
def official(folder: Path, env: dict[str, str]) -> Iterator[str]:
    own = {
        "AWS_LAMBDA_FUNCTION_TIMEOUT": str(TIMEOUT),
        "LAMBDA_TASK_ROOT": str(folder),
        "JUDGE_PYTHON": base_python(),
    }
    with emulator([str(folder / "bootstrap")], folder, {**os.environ, **own, **env}, None) as running_:
        yield f"http://127.0.0.1:{running_.port}{PATH}"


@contextmanager
def ours(folder: Path, env: dict[str, str]) -> Iterator[str]:
    settings = Settings(timeout=TIMEOUT, env=env, concurrency=2)
    with running(folder, settings) as lambda_:
        yield f"{lambda_.url}{PATH}"
