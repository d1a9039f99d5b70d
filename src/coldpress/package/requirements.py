"""What custom code requires: wheels for the function's platform, fetched by pip and unpacked, never run here."""

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from coldpress.cache import cached
from coldpress.errors import ColdpressError, TooLarge, UsageError
from coldpress.package.bytecode import interpreters
from coldpress.package.wheels import MACHINES

#: up to which glibc Lambda's images go: Amazon Linux 2, and from this Python on Amazon Linux 2023
_OLD_GLIBC, _NEW_GLIBC, _NEW_FROM = 26, 34, (3, 12)
_OLDEST_GLIBC = 5
_OLD_NAMES = ("manylinux2014", "manylinux2010", "manylinux1")
#: parts of a wheel's .data folder that belong beside its modules; the others are scripts, headers and the like
_MODULES = ("purelib", "platlib")


@dataclass(frozen=True)
class Wheel:
    name: str
    version: str
    #: unpacked
    bytes: int
    #: the one Python that its compiled parts are for, or any
    python: str

    def __str__(self) -> str:
        return f"{self.name} {self.version} ({self.bytes / 1e6:.1f} MB)"


def fetch(requirements: tuple[str, ...], arch: str, python: str) -> Path:
    """A folder with the wheels of all requirements, and of what those require."""
    key = [sorted(requirements), arch, python]
    # Versions that are not said may be others tomorrow, so only what is pinned is kept for long.
    kept = key if all("==" in one for one in requirements) else [*key, _today()]
    return cached("requirements", kept, lambda folder: _download(requirements, arch, python, folder), whoever=True)


def weigh(folder: Path, most_bytes: int | None) -> list[Wheel]:
    """What the wheels come to when they are unpacked, the heaviest first; an error if that is too much."""
    wheels = sorted(map(_weighed, folder.glob("*.whl")), key=lambda wheel: (-wheel.bytes, wheel.name))
    total = sum(wheel.bytes for wheel in wheels)
    if most_bytes is not None and total > most_bytes:
        raise TooLarge(
            f"the requirements have {total / 1e6:.0f} MB unpacked; a function that is packed as a zip may have "
            f"{most_bytes / 1e6:.0f} with all that is in it. The heaviest: {', '.join(map(str, wheels[:3]))}. "
            "Require less, or leave the function as a folder for an image: --package none"
        )
    return wheels


def unpack(folder: Path, target: Path) -> None:
    """Put the modules of all wheels side by side."""
    for path in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(path) as archive:
            for info, place in _members(archive, path.name):
                (target / place).parent.mkdir(parents=True, exist_ok=True)
                (target / place).write_bytes(archive.read(info))


def _members(archive: zipfile.ZipFile, wheel: str) -> Iterator[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """The files of a wheel that a function needs, and where they lie below its folder."""
    for info in archive.infolist():
        path = PurePosixPath(info.filename)
        if path.is_absolute() or ".." in path.parts or "\\" in info.filename or not path.parts:
            raise ColdpressError(
                f"{wheel} holds {info.filename!r}, which leads out of its folder; it is not unpacked"
            )
        if info.is_dir() or path.suffix == ".pyc":
            continue
        if path.parts[0].endswith(".data"):
            if len(path.parts) < 3 or path.parts[1] not in _MODULES:
                continue
            path = PurePosixPath(*path.parts[2:])
        yield info, path


def _weighed(path: Path) -> Wheel:
    name, version, *_, _, abi, _ = path.name.removesuffix(".whl").split("-")
    with zipfile.ZipFile(path) as archive:
        size = sum(info.file_size for info, _ in _members(archive, path.name))
    # cp313 fits Python 3.13 and no other; abi3 and none fit all that pip would have taken it for.
    python = f"3.{abi.removeprefix('cp3').rstrip('t')}" if abi.startswith("cp3") else "any"
    return Wheel(name, version, size, python)


def _download(requirements: tuple[str, ...], arch: str, python: str, folder: Path) -> None:
    # By the Python that it is for, if that is here: pip judges markers by the one that runs it.
    runner = [sys.executable, "-m", "pip", "--python", interpreters().get(python, sys.executable), "download"]
    command = [*runner, "--quiet", "--disable-pip-version-check", "--no-input", "--only-binary=:all:"]
    for platform in _platforms(arch, python):
        command += ["--platform", platform]
    command += ["--python-version", python, "--implementation", "cp", "--dest", str(folder), "--"]
    done = subprocess.run(
        [*command, *requirements], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode:
        raise UsageError(
            f"the requirements {', '.join(requirements)} cannot be had as wheels for Python {python} on {arch} "
            f"with glibc 2.{_glibc(python)}: {_reason(done.stderr)}. Check names and versions, or choose another "
            "`python` or `arch` in coldpress.toml"
        )


def _platforms(arch: str, python: str) -> list[str]:
    names = [f"manylinux_2_{minor}" for minor in range(_glibc(python), _OLDEST_GLIBC - 1, -1)]
    return [f"{name}_{MACHINES[arch]}" for name in (*names, *_OLD_NAMES)]


def _glibc(python: str) -> int:
    return _NEW_GLIBC if tuple(map(int, python.split("."))) >= _NEW_FROM else _OLD_GLIBC


def _reason(stderr: str) -> str:
    """pip's own last words, without what it says to people at a terminal."""
    lines = [line.removeprefix("ERROR: ") for line in stderr.splitlines() if line.startswith("ERROR: ")]
    return " ".join(lines)[-500:] or stderr.strip()[-500:]


def _today() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).date().isoformat()
