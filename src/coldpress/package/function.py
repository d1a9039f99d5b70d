"""The function: exactly what lies at the task root."""

import json
import os
import shutil
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from coldpress.intake.source import Source
from coldpress.optimize import Candidate
from coldpress.package.bytecode import compile_runtime
from coldpress.package.libraries import place_libraries

TASK_FORMAT = 1

#: What one request may bring, beside Lambda's own limits. Kept in task.json, so that it can be read.
LIMITS = {
    "texts": 2048,
    "characters": 100_000,
}

BOOTSTRAP = """\
#!/bin/sh
# Starts the function. As an image's entrypoint it comes without arguments; as Lambda's exec wrapper
# (AWS_LAMBDA_EXEC_WRAPPER=/var/task/bootstrap) its first argument is the managed runtime's Python.
root=${0%/*}
python=${1:-/var/lang/bin/python3}
command -v "$python" >/dev/null 2>&1 || python=python3
# Large blocks go back to the system when they are freed. Without this, glibc keeps them after the first large
# request, in pieces that the next one may not fit.
export MALLOC_MMAP_THRESHOLD_=131072
# -I and -S: no site packages, no user settings, 10 ms less. The package is looked for last, so that
# the standard library's own modules are found at the first look.
exec "$python" -I -S -c 'import sys
root = sys.argv[1]
sys.path.append(root)
from coldpress_runtime.bootstrap import main
sys.exit(main(root))' "$root"
"""

HANDLER = '''\
"""For AWS's managed Python runtime and its own client: set the handler to handler.lambda_handler."""

import os
import sys

_root = os.path.dirname(os.path.abspath(__file__))
if _root not in sys.path:
    sys.path.append(_root)

from coldpress_runtime.function import Function  # noqa: E402
from coldpress_runtime.settings import choice  # noqa: E402

_function = Function(_root, load=choice("COLDPRESS_LOAD", "init", "first-request") == "init")


def lambda_handler(event, context):
    return _function.call(event)
'''


@dataclass(frozen=True)
class FunctionTree:
    root: Path
    task: dict[str, Any]
    versions: dict[str, str]
    pythons: list[str]


def make_function(source: Source, candidate: Candidate, root: Path) -> FunctionTree:
    root.mkdir()
    _write(root / "bootstrap", BOOTSTRAP, executable=True)
    _write(root / "handler.py", HANDLER)
    _copy_runtime(root / "coldpress_runtime")
    pythons = compile_runtime(root / "coldpress_runtime")
    versions = place_libraries(candidate.engine, candidate.tokenizer is not None, root / "lib")
    task = _task(source, candidate)
    folder = root / "models" / source.name
    folder.mkdir(parents=True)
    for path in candidate.files:
        shutil.copyfile(path, folder / path.name)
    _write(folder / "task.json", json.dumps(task, indent=1) + "\n")
    readable(root)
    return FunctionTree(root, task, versions, pythons)


def _task(source: Source, candidate: Candidate) -> dict[str, Any]:
    return {
        "format": TASK_FORMAT,
        "name": source.name,
        "task": source.task,
        "engine": candidate.engine,
        "precision": candidate.precision,
        "model": candidate.model,
        "tokenizer": candidate.tokenizer,
        "dimensions": source.dimensions,
        "pooling": "+".join(source.pooling) or "none",
        "normalize": source.normalize,
        "max_tokens": source.max_tokens,
        "limits": LIMITS | {"batch_tokens": candidate.batch_tokens},
        **candidate.settings,
    }


def _copy_runtime(target: Path) -> None:
    with as_file(files("coldpress_runtime")) as runtime:
        shutil.copytree(runtime, target, ignore=shutil.ignore_patterns("__pycache__", "py.typed"))


def readable(root: Path) -> None:
    """Modes that Lambda's sandbox user can read, whatever this machine's umask is."""
    for folder, _, names in os.walk(root):
        Path(folder).chmod(0o755)
        for name in names:
            path = Path(folder, name)
            path.chmod(0o755 if path.name == "bootstrap" else 0o644)


def _write(path: Path, text: str, executable: bool = False) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755 if executable else 0o644)
