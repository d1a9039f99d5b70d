"""Memory and CPU as Lambda sells them, held by Linux control groups of either version.

A sandbox is a group: it may use so much memory, and its processes together so much CPU time in each period.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

MB = 1024 * 1024
MB_PER_VCPU = 1769
MOST_VCPUS = 6
THREADS = 1024
#: short, as Lambda's is: half a vCPU then is every other few milliseconds
_PERIOD_US = 20_000


def vcpus(memory_mb: int) -> float:
    """The share of CPU time that a memory size buys."""
    return min(memory_mb / MB_PER_VCPU, float(MOST_VCPUS))


@dataclass(frozen=True)
class Group:
    """One sandbox's group. Nothing here fails because the sandbox is gone already."""

    #: where a process enters: one file for version 2, one for each controller of version 1
    doors: tuple[Path, ...]
    folders: tuple[Path, ...]
    version: int

    def ran_out(self) -> bool:
        """Whether the kernel killed somebody here for want of memory."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        return self._stat(name, "oom_kill") > 0

    def remove(self) -> bool:
        """Whether it is gone; the kernel keeps a group until its last process has ended."""
        gone = True
        for folder in self.folders:
            try:
                folder.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                gone = False
        return gone

    def _stat(self, name: str, field: str) -> int:
        for line in self._read(name).splitlines():
            key, _, value = line.partition(" ")
            if key == field:
                return int(value)
        return 0

    def _read(self, name: str) -> str:
        for folder in self.folders:
            try:
                return (folder / name).read_text()
            except OSError:
                continue
        return ""


class Groups:
    """Where this emulator's groups are made."""

    def __init__(self, version: int, parents: dict[str, Path]) -> None:
        self.version = version
        self._parents = parents

    def make(self, name: str, memory_mb: int) -> Group:
        try:
            return self._make(name, memory_mb)
        except OSError:
            for parent in self._parents.values():
                remove_tree(parent / name)
            raise

    def _make(self, name: str, memory_mb: int) -> Group:
        quota = max(1000, int(vcpus(memory_mb) * _PERIOD_US))
        if self.version == 2:
            folder = self._parents["unified"] / name
            folder.mkdir()
            _write(folder / "memory.max", memory_mb * MB)
            _try(folder / "memory.swap.max", 0)
            _write(folder / "cpu.max", f"{quota} {_PERIOD_US}")
            _try(folder / "pids.max", THREADS)
            return Group((folder / "cgroup.procs",), (folder,), 2)
        made = {kind: parent / name for kind, parent in self._parents.items()}
        for folder in made.values():
            folder.mkdir()
        _write(made["memory"] / "memory.limit_in_bytes", memory_mb * MB)
        _try(made["memory"] / "memory.swappiness", 0)
        _write(made["cpu"] / "cpu.cfs_period_us", _PERIOD_US)
        _write(made["cpu"] / "cpu.cfs_quota_us", quota)
        if "pids" in made:
            _write(made["pids"] / "pids.max", THREADS)
        folders = tuple(made.values())
        return Group(tuple(folder / "cgroup.procs" for folder in folders), folders, 1)

    def close(self) -> None:
        for parent in self._parents.values():
            try:
                parent.rmdir()
            except OSError:  # a sandbox is just ending, or another emulator's group is below
                continue


def find_groups() -> tuple[Groups | None, str]:
    """The groups of this machine, or why there are none."""
    name = f"coldpress-{os.getpid()}-{token_hex(4)}"
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    own = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    parents: dict[str, Path] = {}
    try:
        for kind in ("memory", "cpu", "pids"):
            for _, where, system, options, *_ in mounts:
                if system == "cgroup" and kind in options.split(","):
                    path = next(path for _, kinds, path in own if kind in kinds.split(","))
                    parents[kind] = _child(Path(where), path, name)
        if {"memory", "cpu"} <= parents.keys():
            return Groups(1, parents), "cgroup v1"
        for _, where, system, *_ in mounts:
            if system == "cgroup2":
                path = next(path for number, _, path in own if number == "0")
                return Groups(2, {"unified": _delegated(Path(where), path, name)}), "cgroup v2"
    except (OSError, StopIteration) as error:
        return None, f"control groups may not be made here: {error}"
    return None, "this machine has no control groups for memory and CPU"


def remove_tree(folder: Path) -> bool:
    """Whether a group is gone with all below it."""
    if not folder.exists():
        return True
    try:
        for below in [path for path in folder.iterdir() if path.is_dir()]:
            remove_tree(below)
        folder.rmdir()
    except OSError:  # somebody is still in it
        return False
    return True


def _sweep(parent: Path) -> None:
    """Groups of emulators that were killed are empty, and nobody else's."""
    for left in parent.glob("coldpress-*-*"):
        pid = left.name.split("-")[1]
        if pid.isdecimal() and not Path(f"/proc/{pid}").exists():
            remove_tree(left)


def _child(mount: Path, path: str, name: str) -> Path:
    below = mount / path.lstrip("/")
    base = below if below.is_dir() else mount  # a container sees its own group as the mount's root
    _sweep(base)
    made = base / name
    made.mkdir(exist_ok=True)
    return made


def _delegated(mount: Path, path: str, name: str) -> Path:
    """A version 2 folder whose children may be limited. A group with children must hold no process itself: from
    one that holds us alone we move into one beside them; others are never moved."""
    below = mount / path.lstrip("/")
    base = below if below.is_dir() else mount
    if base.name.startswith("coldpress-") and base.name.endswith(
        "-self"
    ):  # an earlier run of ours moved our shell
        base = base.parent
    wanted = {"memory", "cpu"}
    if not wanted <= set((base / "cgroup.controllers").read_text().split()):
        raise PermissionError(f"{base} has no controllers for memory and cpu")
    if not wanted <= set((base / "cgroup.subtree_control").read_text().split()):
        if (base / "cgroup.type").exists():  # the root of all may hold both
            _move_aside(base, name)
        _write(base / "cgroup.subtree_control", "+memory +cpu")
    _try(base / "cgroup.subtree_control", "+pids")
    _sweep(base)
    made = base / name
    made.mkdir(exist_ok=True)
    _write(made / "cgroup.subtree_control", "+memory +cpu")
    _try(made / "cgroup.subtree_control", "+pids")
    return made


def _move_aside(base: Path, name: str) -> None:
    own = base / f"{name}-self"
    own.mkdir(exist_ok=True)
    _write(own / "cgroup.procs", os.getpid())
    if _pids(base):
        _write(base / "cgroup.procs", os.getpid())
        own.rmdir()
        raise PermissionError(
            f"{base} holds other processes; start in a group of its own: "
            "systemd-run --user --scope -p Delegate=yes coldpress serve DIR"
        )


def _pids(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "cgroup.procs").read_text().split()]


def _write(path: Path, value: object) -> None:
    path.write_text(str(value))


def _try(path: Path, value: object) -> None:
    """Write what makes it better and is not needed."""
    try:
        path.write_text(str(value))
    except OSError:
        return
