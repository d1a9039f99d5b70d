"""Lambda's world on this machine: what a sandbox may see and use, and what of it cannot be held here."""

import os
import platform
import shutil
import socket
import subprocess
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from coldpress.emulate.world.cgroups import Group, Groups, find_groups, vcpus
from coldpress.emulate.world.disk import Disks
from coldpress.errors import MissingPart
from coldpress.package.libraries import host_architecture

RUNTIME_API = "127.0.0.1:9001"
_LIBRARIES = "/var/lang/lib:/lib64:/usr/lib64:/var/runtime:/var/runtime/lib:/var/task:/var/task/lib:/opt/lib"


@dataclass(frozen=True)
class Held:
    """One of Lambda's limits: whether it holds here, and by what."""

    what: str
    enforced: bool
    how: str


@dataclass
class Spawned:
    """A process that was started, with its ways out."""

    process: subprocess.Popen[bytes]
    #: what the launcher tells: see native/sandbox/launch.c
    channel: socket.socket
    #: standard output and error
    log: int
    group: Group | None
    #: where the Runtime API is expected, when it is not made inside
    listener: socket.socket | None
    #: for a function that somebody else starts for us: its processes, once it runs
    inside: "Callable[[], list[int]] | None" = None
    #: whether it ended for want of memory, where there is no group to ask
    ran_out: "Callable[[], bool] | None" = None


class Starter(Protocol):
    """Starts a function's processes."""

    held: list[Held]
    #: the names of programs that are started beside the function
    extensions: frozenset[str]

    def spawn(self, name: str, env: dict[str, str]) -> Spawned: ...
    def close(self) -> None: ...


def launcher() -> Path:
    """The program that starts functions; compiled when coldpress is installed."""
    path = Path(__file__).parent / f"launch-{host_architecture()}"
    if platform.system() != "Linux":
        raise MissingPart(f"sandboxes need Linux, and this is {platform.system()}: serve it in a container")
    if not path.exists():
        raise MissingPart(
            "the sandbox launcher was not compiled: apt-get install gcc libc6-dev, then install coldpress anew"
        )
    return path


def _groups_that_hold(memory_mb: int) -> tuple[Groups | None, str]:
    """Groups that take this much: a container may not give away more than it has."""
    groups, how = find_groups()
    if groups is None:
        return None, how
    try:
        groups.make("probe", memory_mb).remove()
    except OSError as error:
        groups.close()
        return None, f"these limits are refused: {error}"
    return groups, how


def _extensions_in(layers: Path | None) -> frozenset[str]:
    if layers is None or not (layers / "extensions").is_dir():
        return frozenset()
    return frozenset(
        path.name for path in (layers / "extensions").iterdir() if path.is_file() and os.access(path, os.X_OK)
    )


def launch(
    program: list[str],
    env: dict[str, str],
    flags: list[str],
    passed: "Sequence[int]" = (),
    folder: Path | None = None,
) -> Spawned:
    """Start a program by the launcher, with a channel to it and its output in a pipe."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(
            [str(launcher()), "--channel", str(theirs.fileno()), *flags, "--", *program],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=writing,
            pass_fds=[theirs.fileno(), *passed],
            start_new_session=True,
        )
    except BaseException:
        os.close(reading)
        ours.close()
        raise
    finally:
        os.close(writing)
        theirs.close()
    return Spawned(process, ours, reading, None, None)


class World:
    """Starts functions in namespaces, with control groups, as far as this machine lets us."""

    def __init__(
        self,
        root: Path,
        python: Path,
        *,
        pass_python: bool = True,
        memory_mb: int,
        tmp_mb: int = 512,
        network: bool = False,
        layers: Path | None = None,
    ) -> None:
        self._root = root
        self._lang = python.parent.parent
        self._python = python.name if pass_python else ""
        self._memory = memory_mb
        self._tmp_mb = tmp_mb
        self._network = network
        self._layers = layers.resolve() if layers else None
        self.extensions = _extensions_in(layers)
        launcher()  # first of all: what follows is Linux's
        self._groups: Groups | None
        self._groups, grouped = _groups_that_hold(memory_mb)
        self._disks: Disks | None = None
        refused = self._probe()
        self.isolated = refused is None
        if not self.isolated:
            self.extensions = frozenset()
        disk = self._find_disk() if self.isolated else ""
        inside = self.isolated
        why = f"not allowed here: {refused}" if refused else ""
        shares = f"{grouped}: {memory_mb} MB, {vcpus(memory_mb):.2f} vCPU"
        self.held = [
            Held("memory", self._groups is not None, shares if self._groups else f"not held: {grouped}"),
            Held("CPU share", self._groups is not None, shares if self._groups else f"not held: {grouped}"),
            Held("file system", inside, "read-only but /tmp, in a mount namespace" if inside else why),
            Held("temporary files", inside, disk or why),
            Held("shared memory", inside, "no /dev/shm" if inside else why),
            Held("user", inside, "uid 993 without privileges" if inside else why),
            Held(
                "network",
                inside and not network,
                "none" if inside and not network else ("asked for by --network" if network else why),
            ),
            Held("descriptors", True, "1024 by rlimit"),
            Held("processes", inside, "a PID namespace: all end together" if inside else why),
        ]

    @property
    def task_root(self) -> str:
        return "/var/task" if self.isolated else str(self._root)

    def _program(self) -> list[str]:
        """Our own bootstrap is told which Python; others find Lambda's where it is on Lambda."""
        bootstrap = f"{self.task_root}/bootstrap"
        lang = "/var/lang" if self.isolated else str(self._lang)
        return [bootstrap, f"{lang}/bin/{self._python}"] if self._python else [bootstrap]

    def spawn(self, name: str, env: dict[str, str]) -> Spawned:
        listener: socket.socket | None = None
        address = RUNTIME_API
        with ExitStack() as undo:
            group = self._groups.make(name, self._memory) if self._groups else None
            if group is not None:
                undo.callback(group.remove)
            if not self.isolated or self._network:
                listener = undo.enter_context(socket.create_server(("127.0.0.1", 0), backlog=64))
                address = f"127.0.0.1:{listener.getsockname()[1]}"
            own = {
                "PATH": "/var/lang/bin:/usr/local/bin:/usr/bin/:/bin:/opt/bin",
                "LAMBDA_TASK_ROOT": self.task_root,
                "LAMBDA_RUNTIME_DIR": "/var/runtime",
                "AWS_LAMBDA_RUNTIME_API": address,
            }
            if self.isolated:
                own["LD_LIBRARY_PATH"] = _LIBRARIES
            flags = [] if group is None else [part for door in group.doors for part in ("--cgroup", str(door))]
            disk = self._disks.make() if self._disks else None
            try:
                passed = [] if disk is None else [disk]
                made = launch(self._program(), {**own, **env}, flags + self._flags(disk), passed, self._root)
            finally:
                if disk is not None:
                    os.close(disk)
            undo.pop_all()
        made.group, made.listener = group, listener
        return made

    def close(self) -> None:
        if self._groups:
            self._groups.close()

    def _flags(self, disk: int | None) -> list[str]:
        if not self.isolated:
            return []
        flags = ["--isolate", "--task", str(self._root), "--lang", str(self._lang)]
        flags += ["--opt", str(self._layers)] if self._layers else []
        flags += ["--tmp-image", str(disk)] if disk is not None else ["--tmp-mb", str(self._tmp_mb)]
        return [*flags, "--network"] if self._network else flags

    def _probe(self, disk: int | None = None) -> str | None:
        """Why sandboxes cannot be isolated here, or have no disk, if so: tried, not guessed."""
        self.isolated = True
        made = launch(["true"], {"PATH": "/usr/bin:/bin"}, self._flags(disk), [] if disk is None else [disk])
        told = []
        with made.channel:
            while data := made.channel.recv(1024):
                told.append(data)
        made.process.wait()
        os.close(made.log)
        errors = [data[1:].decode(errors="replace") for data in told if data[:1] == b"E"]
        return errors[0] if errors else None

    def _find_disk(self) -> str:
        memory = f"{self._tmp_mb} MB, in memory: what is written there counts as the function's"
        if os.geteuid() != 0 or not Path("/dev/loop-control").exists() or shutil.which("true") is None:
            return f"{memory} (a disk needs root and loop devices)"
        refused: str | None
        try:
            self._disks = Disks(self._tmp_mb)
            file = self._disks.make()
            try:
                refused = self._probe(file)
            finally:
                os.close(file)
        except (OSError, subprocess.SubprocessError) as error:
            refused = str(error)
        if refused is None:
            return f"a disk of {self._tmp_mb} MB"
        self._disks = None
        return f"{memory} (no disk: {refused})"
