"""Bytecode of the runtime, made ahead: a sandbox cannot write it and should not spend its start on it.

Bytecode belongs to one minor version of Python, so the function carries it for each one that is
found here. It is of the unchecked kind: no time stamps to compare, no source to hash.
"""

import os
import shutil
import subprocess
import sys
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

from coldpress.cache import cached

VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")

# Runs inside each interpreter. The recorded file name is where the file will lie in Lambda.
_COMPILE = """
import importlib.util, os, py_compile, sys
root, place, strict = sys.argv[1], sys.argv[2], sys.argv[3] == "strict"
for folder, _, names in sorted(os.walk(root)):
    for name in sorted(names):
        if name.endswith(".py"):
            path = os.path.join(folder, name)
            shown = place + "/" + os.path.relpath(path, root)
            py_compile.compile(path, dfile=shown, doraise=strict, quiet=1 if strict else 2,
                               invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
"""


@cache
def interpreters() -> dict[str, str]:
    """The Pythons on this machine, by minor version: this one, those on PATH, pyenv's."""
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = {running: sys.executable}
    for version in VERSIONS:
        managed = sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))
        # A pyenv shim on PATH may stand for no Python at all, so the real ones are asked first.
        path = str(managed[-1]) if managed else shutil.which(f"python{version}")
        if version not in found and path is not None and _runs(path, version):
            found[version] = path
    return dict(sorted(found.items(), key=lambda item: VERSIONS.index(item[0]) if item[0] in VERSIONS else 99))


def place_runtime(target: Path) -> list[str]:
    """Put the runtime at `target`, compiled for every Python found; returns their versions."""
    found = interpreters()
    shutil.copytree(cached("runtime", found, lambda folder: _compile(folder, found)) / "compiled", target)
    return list(found)


def _compile(folder: Path, found: dict[str, str]) -> None:
    target = folder / "compiled"
    with as_file(files("coldpress_runtime")) as runtime:
        shutil.copytree(runtime, target, ignore=shutil.ignore_patterns("__pycache__", "py.typed"))
    for path in found.values():
        compile_folder(target, "coldpress_runtime", path)


def compile_folder(folder: Path, place: str, python: str, strict: bool = True) -> None:
    """Compile what lies in `folder`, and will lie at `place` in the function; if `strict`, all of it must."""
    # A fresh process and a fixed hash seed: the same bytes each time.
    subprocess.run(
        [python, "-I", "-S", "-c", _COMPILE, str(folder), f"/var/task/{place}", "strict" if strict else "lenient"],
        check=True,
        env={"PYTHONHASHSEED": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


def _runs(path: str, version: str) -> bool:
    ask = "import sys; print('%d.%d %s' % (*sys.version_info[:2], sys.implementation.name))"
    try:
        done = subprocess.run(
            [path, "-I", "-S", "-c", ask], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.strip() == f"{version} cpython"
