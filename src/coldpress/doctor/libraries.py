"""Packed libraries against what they will meet on Lambda: its glibc, its CPU, its Python."""

import re
from functools import lru_cache
from pathlib import Path

from coldpress.doctor.case import Case
from coldpress.doctor.finding import Finding, few, green, red, yellow
from coldpress.doctor.symbols import Version, library_facts
from coldpress.package.elf import NotElf

#: Lambda's Pythons from this one on are on Amazon Linux 2023, older ones on Amazon Linux 2
_AL2023_FROM = (3, 12)
_OLD_GLIBC, _NEW_GLIBC = (2, 26), (2, 34)
#: what the runtime that a function carries is written for
_OLDEST_PYTHON = (3, 10)
_AWS_BASES = ("public.ecr.aws/lambda/",)
#: in names of compiled modules: _speedups.cpython-313-x86_64-linux-gnu.so
_TAG = re.compile(r"\.cpython-(\d)(\d+)t?-")


def runtime_glibc(python: tuple[int, int]) -> Version:
    return _NEW_GLIBC if python >= _AL2023_FROM else _OLD_GLIBC


def glibc(case: Case) -> Finding | None:
    libraries = _libraries(case)
    if not libraries:
        return None
    name, has = "glibc", runtime_glibc(case.python)
    needs = {path: _facts(path)[1] for path in libraries}
    wrong = [f"{case.place(path)} needs {_dotted(need)}" for path, need in needs.items() if need and need > has]
    runtime = f"python{_dotted(case.python)} has {_dotted(has)}"
    base = _foreign_base(case)
    if wrong and base:
        return yellow(
            name,
            f"{few(wrong)}; the image is built on {base}",
            why="whether that has such a glibc is not known here; with an older one the library does not load",
            fix=f"look: docker run --rm --entrypoint ldd {base} --version",
        )
    if wrong:
        most = max(filter(None, needs.values()))
        return red(
            name,
            f"{few(wrong)}; {runtime}",
            why=f"the library does not load: version `GLIBC_{_dotted(most)}' not found",
            fix=_glibc_fix(case, most),
        )
    newest = max((need for need in needs.values() if need), default=None)
    return green(name, f"{_dotted(newest) if newest else 'no version'} is needed; {runtime}")


def architecture(case: Case) -> Finding:
    """The artifact's, the one that is asked for, and that of every library in it."""
    name, arch = "architecture", case.settings.arch or case.arch
    if arch != case.arch:
        return red(
            name,
            f"{case.artifact.path} is for {case.arch}, and --arch is {arch}",
            why="its libraries do not load on the other CPU",
            fix=f"coldpress build MODEL --out {case.artifact.path} --arch {arch}, or --arch {case.arch}",
        )
    other = {path: _facts(path)[0] for path in _libraries(case)}
    wrong = [f"{case.place(path)} is for {found}" for path, found in other.items() if found != arch]
    if wrong:
        return red(
            name,
            f"{few(wrong)}; the function is for {arch}",
            why="the library does not load: wrong ELF class or machine",
            fix=f"require a wheel for {arch}, and build again with --arch {arch}",
        )
    return green(name, f"{arch}; libraries looked at: {len(other)}")


def python(case: Case) -> Finding:
    """The runtime's Python against what compiled modules are for, and what bytecode there is."""
    name, runtime = "Python on Lambda", _dotted(case.python)
    needed = str(case.artifact.manifest["python"])
    tags = {path: _TAG.search(path.name) for path in _libraries(case)}
    wrong = [
        f"{case.place(path)} is for {tag[1]}.{tag[2]}"
        for path, tag in tags.items()
        if tag and f"{tag[1]}.{tag[2]}" != runtime
    ]
    if case.python < _OLDEST_PYTHON:
        return red(
            name,
            f"python{runtime}; the runtime in the function needs {_dotted(_OLDEST_PYTHON)}",
            why="it does not start: SyntaxError",
            fix="--runtime python3.13",
        )
    if needed not in ("any", runtime) or wrong:
        found = wrong or [f"the function runs on {needed} only"]
        return red(
            name,
            f"{few(found)}; the runtime is python{runtime}",
            why="a compiled module loads in the one Python that it is for: ModuleNotFoundError",
            fix=f"--runtime python{needed}"
            if needed not in ("any", runtime) and not wrong
            else f'python = "{runtime}" in coldpress.toml, and build again',
        )
    compiled = [str(version) for version in case.artifact.manifest.get("bytecode", [])]
    if runtime not in compiled:
        return yellow(
            name,
            f"python{runtime}, and the function has bytecode for {', '.join(compiled) or 'none'}",
            why="every cold start compiles the runtime first",
            fix=f"--runtime python{compiled[-1]}"
            if compiled
            else "install coldpress from a wheel, and build again",
        )
    return green(name, f"python{runtime}; the function is for {needed}")


def _glibc_fix(case: Case, most: Version) -> str:
    one = str(case.artifact.manifest["python"])
    if most > _NEW_GLIBC:
        return "build it against an older glibc, or take its wheel for manylinux_2_34 or older"
    if one == "any":
        return "--runtime python3.13, which has glibc 2.34"
    return (
        f"build with Python 3.12 or later, whose runtimes have glibc 2.34; or keep {one} in an image on a newer "
        f"base: coldpress build … --package image --base docker.io/library/python:{one}-slim"
    )


def _foreign_base(case: Case) -> str:
    """What an image is built on, if that is not AWS's own."""
    image = case.artifact.manifest.get("image") if case.package == "image" else None
    base = str(image.get("base") or "") if isinstance(image, dict) else ""
    return "" if base.startswith(_AWS_BASES) else base


def _libraries(case: Case) -> list[Path]:
    """Files that are called like libraries and are some."""
    return [path for path in case.files if re.search(r"\.so(\.\d+)*$", path.name) and _is_library(path)]


def _is_library(path: Path) -> bool:
    """A linker's script is called the same, and is text."""
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _facts(path: Path) -> tuple[str, Version | None]:
    status = path.stat()
    return _read(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4096)
def _read(path: Path, changed: int, size: int) -> tuple[str, Version | None]:
    """Once for each state of a file: two checks ask."""
    try:
        return library_facts(path)
    except NotElf as error:
        raise NotElf(f"{path}: {error}") from None


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


CHECKS = [glibc, architecture, python]
