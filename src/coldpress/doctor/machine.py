"""This machine: what coldpress can do on it, and what it lacks for the rest."""

import platform
import re
import shutil
import sys
from datetime import date
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from tempfile import TemporaryDirectory

from coldpress.doctor.finding import Finding, few, green, red, yellow
from coldpress.errors import ColdpressError, MissingPart
from coldpress.package.libraries import ARCHITECTURES, host_architecture, own_library
from coldpress.version import __version__

_OLDEST = (3, 11)
#: what each extra is for
EXTRAS = {
    "export": "pressing models",
    "images": "image models",
    "serve": "the local Lambda",
    "aws": "deploying",
    "report": "the report's charts",
}
_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:==\s*([^\s;,]+))?[^;]*;(.*)")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([A-Za-z0-9._-]+)['\"]")
#: programs, what brings them, and what they are for
_PROGRAMS = {
    "qemu-x86_64-static": "verify --cpu avx2 (apt-get install qemu-user-static)",
    "qemu-aarch64-static": "verify --cpu arm64 (apt-get install qemu-user-static)",
    "podman": "serve image:NAME (apt-get install podman)",
}
#: days: AWS changes a few prices a year
_OLD_PRICES = 180


def python() -> Finding:
    found = sys.version_info[:2]
    said = f"{platform.python_version()}, coldpress {__version__}"
    if found < _OLDEST:
        need = ".".join(map(str, _OLDEST))
        return red("Python", said, why=f"coldpress needs {need} or later", fix=f"install Python {need} or later")
    return green("Python", said)


def platform_known() -> Finding:
    name, system, arch = "platform", platform.system(), host_architecture()
    said = f"{system} {arch}"
    if system not in ("Linux", "Darwin") or arch not in ARCHITECTURES:
        return red(
            name,
            said,
            why="coldpress runs on Linux and macOS, on x86_64 and arm64",
            fix="use a Linux container, or WSL on Windows",
        )
    if system != "Linux":
        return yellow(
            name,
            said,
            why="building and deploying work; a function runs on Linux only",
            fix="run invoke, serve and bench in a Linux container",
        )
    return green(name, said)


def extras() -> Finding:
    """Optional parts, against the versions that this coldpress is pinned to."""
    missing, other, there = set(), [], []
    for extra, packages in wanted_by_extra(requires("coldpress") or []).items():
        lost = [name for name in packages if _installed(name) is None]
        if lost and extra in EXTRAS:
            missing.add(extra)
        elif extra in EXTRAS:
            there.append(extra)
        other += [
            f"{name} {_installed(name)} instead of {pin}"
            for name, pin in packages.items()
            if pin and name not in lost and str(_installed(name)).partition("+")[0] != pin  # 2.13.0+cpu
        ]
    name = "optional parts"
    if missing or other:
        without = [f"without {extra}: {EXTRAS[extra]}" for extra in EXTRAS if extra in missing]
        wanted = [extra for extra in EXTRAS if extra in missing or (other and extra in there)]
        return yellow(
            name,
            few([*without, *sorted(set(other))], 5),
            why="other versions make other bytes, and what is missing is asked for when it is needed",
            fix=f"pip install 'coldpress[{','.join(wanted)}]'",
        )
    return green(name, ", ".join(there))


def wanted_by_extra(requirements: list[str]) -> dict[str, dict[str, str]]:
    """extra → package → the version that it is pinned to, if it is; other platforms' are left out."""
    found: dict[str, dict[str, str]] = {}
    for line in requirements:
        parts = _REQUIREMENT.match(line)
        extra = _EXTRA.search(parts[3]) if parts else None
        if parts is None or extra is None:
            continue
        if "sys_platform" in parts[3] and f"'{sys.platform}'" not in parts[3].replace('"', "'"):
            continue
        found.setdefault(extra[1], {})[parts[1]] = parts[2] or ""
    return found


def native_parts() -> Finding:
    """Libraries of our own, which are compiled when coldpress is installed."""
    lost, here = [], host_architecture()
    for library in ("press", "pictures", "sounds"):
        for arch in ARCHITECTURES:
            try:
                own_library(library, arch)
            except ColdpressError:
                lost.append((library, arch))
    name = "native parts"
    if not lost:
        return green(name, f"press, pictures, sounds for {' and '.join(ARCHITECTURES)}")
    names = [f"{library} for {arch}" for library, arch in lost]
    return yellow(
        name,
        f"not here: {few(names, 6)}",
        why="models that need one are refused, or run on onnxruntime instead",
        fix="apt-get install gcc libjpeg-dev libpng-dev"
        + (" gcc-aarch64-linux-gnu" if any(arch != here for _, arch in lost) else "")
        + ", then install coldpress again; or install its wheel, which brings them",
    )


def programs() -> Finding:
    """Nothing needs them but what is said beside them, so that none is missed."""
    lost = [
        f"no {name}: needed for {purpose}" for name, purpose in _PROGRAMS.items() if shutil.which(name) is None
    ]
    return green("programs", "; ".join(lost) or ", ".join(_PROGRAMS))


def sandboxes() -> Finding:
    """Whether the local Lambda can hold functions to Lambda's limits here: tried, not guessed."""
    name = "local Lambda"
    try:
        from coldpress.emulate.sandbox import base_python
        from coldpress.emulate.world.namespaces import World, launcher

        launcher()
    except MissingPart as error:
        why = "serve, bench and invoke cannot start functions here"
        return yellow(name, str(error), why=why, fix=str(error).rpartition(": ")[2])
    with TemporaryDirectory(prefix="coldpress-doctor-") as folder:
        world = World(Path(folder), Path(base_python()), memory_mb=128)
        world.close()
    loose = [held for held in world.held if not held.enforced]
    if not loose:
        return green(name, f"memory and CPU by {world.held[0].how.partition(':')[0]}, all else by namespaces")
    groups = any(held.what == "memory" for held in loose)
    fixes = ["systemd-run --user --scope -p Delegate=yes coldpress serve DIR"] if groups else []
    if not world.isolated:
        fixes.append("sysctl -w kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0")
    return yellow(
        name,
        f"not held: {few([held.what for held in loose], 9)} ({loose[0].how})",
        why="a function that is served here may use more than it gets on Lambda",
        fix=f"{'; '.join([*fixes, 'or run as root'])}",
    )


def prices() -> Finding:
    from coldpress.cost.book import price_book

    book = price_book()
    said = book.lambda_.gb_second["x86_64"][0].price.date
    days = (date.today() - date.fromisoformat(said)).days
    if days > _OLD_PRICES:
        return yellow(
            "price book",
            f"of {said}, {days} days old",
            why="AWS may have changed prices since",
            fix=f"coldpress prices --refresh --region {book.region}",
        )
    return green("price book", f"of {said}, {book.place}")


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


CHECKS = [python, platform_known, extras, native_parts, programs, sandboxes, prices]
