"""A root folder of another machine, unpacked from Debian's packages: its Python, its libraries."""

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from coldpress.cache import cached
from coldpress.errors import ColdpressError, MissingPart


def debian_root(arch: str, packages: tuple[str, ...]) -> Path:
    """A folder with `packages` for `arch`, as Debian calls it, and all that they need; fetched once."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise MissingPart(f"what runs as {arch} is fetched with apt-get and dpkg-deb, which are not here")
    return cached("debian-root", [arch, *packages], lambda to: _fetch(arch, packages, to), whoever=True) / "root"


def _fetch(arch: str, packages: tuple[str, ...], folder: Path) -> None:
    """With lists and archives of its own, so that nothing on this machine changes and nobody needs to be root."""
    with TemporaryDirectory(prefix="coldpress-apt-") as work:
        for name in ("state/lists/partial", "cache/archives/partial"):
            (Path(work) / name).mkdir(parents=True)
        (Path(work) / "status").touch()
        apt = ["apt-get", "-qq"]
        for setting in (
            f"APT::Architecture={arch}",
            f"APT::Architectures={arch}",
            "APT::Sandbox::User=",
            "APT::Install-Recommends=false",
            f"Dir::State={work}/state",
            f"Dir::State::status={work}/status",
            f"Dir::Cache={work}/cache",
            "Debug::NoLocking=true",
        ):
            apt += ["-o", setting]
        _run([*apt, "update"])
        _run([*apt, "install", "--yes", "--download-only", *packages])
        for package in sorted((Path(work) / "cache/archives").glob("*.deb")):
            _run(["dpkg-deb", "-x", str(package), str(folder / "root")])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise ColdpressError(f"{' '.join(command[:1])} failed: {done.stderr.strip()[-500:]}")
