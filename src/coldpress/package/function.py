"""The function: exactly what lies at the task root."""

import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coldpress.optimize.candidate import Candidate
from coldpress.package.bytecode import place_runtime
from coldpress.package.libraries import place_libraries
from coldpress.package.licences import place_licences
from coldpress.tasks import Task
from coldpress_runtime.tasks import CLASSES

TASK_FORMAT = 1

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
# the standard library's own modules are found at the first look. -B: a function never writes into its own folder.
exec "$python" -I -S -B -c 'import sys
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
    arch: str
    versions: dict[str, str]
    #: the one version that it runs on, or any
    python: str
    #: those that it carries bytecode for
    pythons: list[str]


def make_function(task: Task, candidate: Candidate, root: Path, arch: str) -> FunctionTree:
    pythons = place_loop(root)
    keep_own(root / "coldpress_runtime", {task.source.task}, {candidate.engine})
    versions = place_model(task, candidate, root / "models" / task.source.name, root / "lib", arch)
    place_licences(root / "licenses", ["coldpress", *versions])
    readable(root)
    return FunctionTree(root, arch, versions, python_for(candidate.engine), pythons)


def place_loop(root: Path) -> list[str]:
    """What every function has: how it starts, and the runtime; returns the Pythons that it has bytecode for."""
    root.mkdir()
    _write(root / "bootstrap", BOOTSTRAP, executable=True)
    _write(root / "handler.py", HANDLER)
    return place_runtime(root / "coldpress_runtime")


def keep_own(runtime: Path, tasks: set[str], engines: set[str], many: bool = False) -> None:
    """What only other tasks and engines need is left out, with its bytecode. Custom functions keep all of it."""
    own = {task.replace("-", "_") for task in tasks}
    # Streaming writes as custom code does, and custom code reads tensors.
    others = {name.replace("-", "_") for name in CLASSES} - own - {"custom", "tensors"}
    unneeded = {
        "openapi": {*others, "custom", "tensors"} - own,
        "tasks": others,
        "engines": {"press", "onnxruntime", "torch"} - engines,
    }
    if not many:
        shutil.rmtree(runtime / "many")
    for part, names in unneeded.items():
        for path in [*(runtime / part).glob("*.py"), *(runtime / part).glob("__pycache__/*.pyc")]:
            if path.name.partition(".")[0] in names:
                path.unlink()


def place_model(task: Task, candidate: Candidate, folder: Path, libraries: Path, arch: str) -> dict[str, str]:
    """A model with its task.json, and the libraries that it runs by; returns their versions."""
    versions = place_libraries(candidate.engine, _native(task, candidate), libraries, arch)
    folder.mkdir(parents=True)
    for path in candidate.files:
        shutil.copyfile(path, folder / path.name)
    write_spec(folder, _spec(task, candidate))
    return versions


def write_spec(folder: Path, spec: dict[str, Any]) -> None:
    _write(folder / "task.json", json.dumps({"format": TASK_FORMAT, **spec}, indent=1) + "\n")


def python_for(engine: str) -> str:
    """Other engines are C libraries and an abi3 module; torch is compiled for the Python that it is here for."""
    return f"{sys.version_info.major}.{sys.version_info.minor}" if engine == "torch" else "any"


def _native(task: Task, candidate: Candidate) -> tuple[str, ...]:
    return (*task.native, *(("tokenizers",) if candidate.tokenizer is not None else ()))


def _spec(task: Task, candidate: Candidate) -> dict[str, Any]:
    own = task.spec()
    limits = own.pop("limits", {})
    if candidate.batch_tokens:
        limits = limits | {"batch_tokens": candidate.batch_tokens}
    return {
        "name": task.source.name,
        "task": task.source.task,
        "engine": candidate.engine,
        "precision": candidate.precision,
        "model": candidate.model,
        "tokenizer": candidate.tokenizer,
        **own,
        "limits": limits,
        **candidate.settings,
    }


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
