"""Images: every sandbox is a container, held to Lambda's limits by podman."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from secrets import token_hex

from coldpress.emulate.world.cgroups import MB, THREADS, remove_tree, vcpus
from coldpress.emulate.world.namespaces import RUNTIME_API, Held, Spawned, launch
from coldpress.errors import ColdpressError, MissingPart

#: a virtual machine inside another has fewer processes to give than podman asks for
_LIMITS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000")
_MEMORY_V1 = Path("/sys/fs/cgroup/memory")
_TMP = "/tmp"  # noqa: S108 - the container's own
#: what podman itself wants to know of the shell
_PASSED = ("PATH", "HOME", "XDG_RUNTIME_DIR", "TMPDIR")


class Podman:
    """Starts an image's containers: a name that podman knows or can pull, or a folder with an OCI layout."""

    extensions: frozenset[str] = frozenset()

    def __init__(self, image: str, *, memory_mb: int, tmp_mb: int = 512, network: bool = False) -> None:
        self._podman = shutil.which("podman") or ""
        if not self._podman:
            raise MissingPart("to serve an image, podman is needed: apt-get install podman")
        self._image = self._found(image)
        self._memory = memory_mb
        self._tmp_mb = tmp_mb
        self._alone = os.geteuid() == 0 and not network
        self._label = f"coldpress={os.getpid()}"
        self._sweep()
        self._parent = f"coldpress-{os.getpid()}-{token_hex(4)}"
        self._folder = Path(tempfile.mkdtemp(prefix="coldpress-podman-"))
        shares = f"podman: {memory_mb} MB, {vcpus(memory_mb):.2f} vCPU"
        without = "asked for by --network" if network else "not held: it needs root"
        self.held = [
            Held("memory", True, shares),
            Held("CPU share", True, shares),
            Held("file system", True, "the image, read-only but /tmp"),
            Held(
                "temporary files", True, f"{tmp_mb} MB, in memory: what is written there counts as the function's"
            ),
            Held("shared memory", True, "no /dev/shm"),
            Held("user", True, "uid 993 without privileges"),
            Held("network", self._alone, "none" if self._alone else without),
            Held("descriptors", True, "1024"),
            Held("freezing", True, "SIGSTOP"),
        ]

    def spawn(self, name: str, env: dict[str, str]) -> Spawned:
        listener, address = None, RUNTIME_API
        if not self._alone:
            listener = socket.create_server(("127.0.0.1", 0), backlog=64)
            address = f"127.0.0.1:{listener.getsockname()[1]}"
        container, pidfile = f"coldpress-{os.getpid()}-{name}", self._folder / name
        inside = {**env, "LAMBDA_TASK_ROOT": "/var/task", "AWS_LAMBDA_RUNTIME_API": address}
        command = [
            *self._runtime(),
            "run",
            "--replace",
            "--name",
            container,
            "--label",
            self._label,
            "--pidfile",
            str(pidfile),
        ]
        command += self._watched(name)
        command += ["--network", "host", "--ipc", "none", "--read-only", "--read-only-tmpfs=false"]
        command += ["--tmpfs", f"{_TMP}:rw,size={self._tmp_mb}m,mode=1777", "--user", "993:990", *_LIMITS]
        command += ["--memory", f"{self._memory}m", "--memory-swap", f"{self._memory}m"]
        command += ["--cpus", f"{vcpus(self._memory):.3f}", "--pids-limit", str(THREADS), "--cap-drop", "all"]
        command += ["--security-opt", "no-new-privileges", "--log-driver", "none"]
        own = {key: value for key, value in os.environ.items() if key in _PASSED or key.startswith("CONTAINERS_")}
        # Values travel in the environment: a command line can be read by everybody on this machine.
        for key, value in inside.items():
            command += ["--env", f"{key}={value}" if key in own else key]
            own.setdefault(key, value)
        made = launch([*command, self._image], own, ["--alone"] if self._alone else [])
        made.listener = listener
        made.inside = lambda: _number_in(pidfile)
        made.ran_out = lambda: self._ran_out(container, name)
        return made

    def close(self) -> None:
        """Containers that ended are kept until here, so that one can be asked why."""
        listed = self._say("ps", "--all", "--quiet", "--filter", f"label={self._label}")
        if listed.stdout.split():
            self._say("rm", "--force", "--time", "0", *listed.stdout.split())
        shutil.rmtree(self._folder, ignore_errors=True)
        groups = [*Path("/sys/fs/cgroup").glob(f"*/{self._parent}")]
        for _ in range(100):  # whoever watched the containers is just leaving
            if all(remove_tree(group) for group in groups):
                break
            time.sleep(0.02)

    def _sweep(self) -> None:
        """Containers of emulators that were killed run on without them."""
        form = '{{.ID}} {{index .Labels "coldpress"}}'
        listed = self._say("ps", "--all", "--filter", "label=coldpress", "--format", form)
        for line in listed.stdout.splitlines():
            container, _, pid = line.partition(" ")
            if pid.isdecimal() and not Path(f"/proc/{pid}").exists():
                self._say("rm", "--force", "--time", "0", container)

    def _ran_out(self, container: str, name: str) -> bool:
        """Podman knows by version 2 of control groups; of version 1 the group above tells how far it came."""
        try:
            if (
                int((_MEMORY_V1 / self._parent / name / "memory.max_usage_in_bytes").read_text())
                >= self._memory * MB
            ):
                return True
        except OSError:
            pass
        said = self._say("inspect", "--format", "{{json .State}}", container)
        try:
            return bool(json.loads(said.stdout).get("OOMKilled"))
        except ValueError:
            return False

    def _watched(self, name: str) -> list[str]:
        """A group above the container's, which outlives it."""
        if os.geteuid() != 0 or not _MEMORY_V1.is_dir():
            return []
        folder = _MEMORY_V1 / self._parent / name
        folder.mkdir(parents=True)
        (folder / "memory.limit_in_bytes").write_text(str(self._memory * MB))
        return ["--cgroup-parent", f"/{self._parent}/{name}"]

    def _found(self, image: str) -> str:
        """What podman calls it, after it has it."""
        if Path(image).is_dir():
            image = f"oci:{Path(image).resolve()}"
        elif self._say("image", "exists", image).returncode == 0:
            return image
        pulled = self._say("pull", "--quiet", image)
        if pulled.returncode:
            raise ColdpressError(f"podman cannot get {image}: {pulled.stderr.strip()[-500:]}")
        return pulled.stdout.strip().splitlines()[-1]

    def _runtime(self) -> list[str]:
        """runc where it is: crun needs more of the machine than a nested one gives."""
        command = [self._podman, "--cgroup-manager", "cgroupfs"] if os.geteuid() == 0 else [self._podman]
        return [*command, "--runtime", "runc"] if shutil.which("runc") else command

    def _say(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*self._runtime(), *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )


def _number_in(pidfile: Path) -> list[int]:
    """The container's first process; podman makes the file before it knows it."""
    try:
        return [int(pidfile.read_text())]
    except (OSError, ValueError):
        return []
