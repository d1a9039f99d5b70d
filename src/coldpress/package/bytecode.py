"""Bytecode of the runtime, made ahead: a sandbox cannot write it and should not spend its start on it.

Bytecode belongs to one minor version of Python, so the function carries it for each one that is
found here. It is of the unchecked kind: no time stamps to compare, no source to hash.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

#: where a wheel has the compiled runtime, beside this module
SHIPPED = "shipped_runtime.zip"
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
    """Put the runtime at `target`, compiled for every Python; returns their versions.

    A released coldpress brings the bytecode along, so that all machines make the same function; one that runs from
    its sources compiles for the Pythons that are here."""
    from coldpress.cache import cached  # what builds the wheel loads this module by itself

    with as_file(files("coldpress_runtime")) as runtime:
        if not _unpack_shipped(target, _sources(runtime)):
            found = interpreters()
            made = cached("runtime", found, lambda folder: compile_runtime(runtime, folder / "compiled"))
            shutil.copytree(made / "compiled", target)
    return _compiled_for(target)


def _unpack_shipped(target: Path, sources: dict[str, bytes]) -> bool:
    """What the wheel brought, unless the sources were changed since."""
    with as_file(files("coldpress.package").joinpath(SHIPPED)) as brought:
        if not brought.is_file():
            return False
        with zipfile.ZipFile(brought) as archive:
            if {name: archive.read(name) for name in archive.namelist() if name.endswith(".py")} != sources:
                return False
            archive.extractall(target)
    return True


def ship_runtime(runtime: Path, target: Path) -> None:
    """For a wheel: the compiled runtime as one file, since what builds wheels leaves bytecode out."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        compiled = Path(folder) / "compiled"
        compile_runtime(runtime, compiled)
        for path in sorted(path for path in compiled.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(compiled).as_posix())
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)


def compile_runtime(runtime: Path, target: Path) -> None:
    """Copy the package `runtime` and compile it by every interpreter of this machine."""
    shutil.copytree(runtime, target, ignore=shutil.ignore_patterns("__pycache__", "py.typed"))
    for path in interpreters().values():
        compile_folder(target, "coldpress_runtime", path)


def _sources(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.py")}


def _compiled_for(folder: Path) -> list[str]:
    tags = {path.name.split(".")[-2].removeprefix("cpython-3") for path in folder.glob("__pycache__/*.pyc")}
    return [f"3.{minor}" for minor in sorted(tags, key=int)]


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
