"""What checks look at: an artifact, its figures, and how it is to be run."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from coldpress.artifact import Artifact, folder_bytes
from coldpress.bench.result import BENCH, Bench
from coldpress.deploy.wanted import WRAPPER
from coldpress.emulate.world.cgroups import MB_PER_VCPU, vcpus
from coldpress.errors import ArtifactError, UsageError
from coldpress.package.pack import UNZIPPED

RUNTIME = "python3.13"
TIMEOUT = 30.0
#: what Lambda gives every function for nothing
TMP_MB = 512


@dataclass(frozen=True)
class Settings:
    """How a function is to be run on Lambda. None is what its artifact or its figures say."""

    memory_mb: int | None = None
    #: seconds
    timeout: float = TIMEOUT
    env: Mapping[str, str] = field(default_factory=dict)
    provisioned: int = 0
    snapstart: bool = False
    tmp_mb: int = TMP_MB
    #: whether a network file system is mounted
    efs: bool = False
    #: as Lambda names it: python3.13
    runtime: str | None = None
    arch: str | None = None
    #: auto, zip or image
    package: str = "auto"

    def __post_init__(self) -> None:
        if self.runtime is not None:
            python_of(self.runtime)


def python_of(runtime: str) -> tuple[int, int]:
    """The version in the name of one of Lambda's runtimes."""
    major, dot, minor = runtime.removeprefix("python").partition(".")
    digits = major + minor
    if not (runtime.startswith("python") and dot and digits.isascii() and digits.isdecimal() and major and minor):
        raise UsageError(f"--runtime is {runtime!r}; it can be python3.10 and later, such as {RUNTIME}")
    return int(major), int(minor)


@dataclass(frozen=True)
class Figures:
    """What was measured, for the memory size that is asked for."""

    #: of the size that was measured, and whether it is the one that was asked for
    memory_mb: int
    exact: bool
    #: the slowest of all starts, and its init alone
    cold_ms: float
    init_ms: float
    #: the slowest shape's 99th percentile
    p99_ms: float
    peak_mb: float
    #: why it does not fit in that size; empty where it does
    why: str = ""


@dataclass(frozen=True)
class Case:
    """One artifact, and everything that several checks want to know of it, read once."""

    artifact: Artifact
    settings: Settings

    @property
    def function(self) -> Path:
        return self.artifact.function_folder

    @property
    def arch(self) -> str:
        return str(self.artifact.manifest["arch"])

    @property
    def python(self) -> tuple[int, int]:
        """Of the runtime that the function is to run on: the one that is said, or that it needs, or the usual."""
        if self.settings.runtime is None and self.artifact.python != "any":
            return python_of(f"python{self.artifact.python}")
        return python_of(self.settings.runtime or RUNTIME)

    @property
    def package(self) -> str:
        """What goes to Lambda: a zip or an image."""
        if self.settings.package != "auto":
            return self.settings.package
        if self.artifact.zip is not None or self.artifact.image is not None:
            return "zip" if self.artifact.zip is not None else "image"
        return "zip" if self.function_bytes <= UNZIPPED else "image"

    @property
    def env(self) -> dict[str, str]:
        """The variables that Lambda is given."""
        return {**(WRAPPER if self.package == "zip" else {}), **self.settings.env}

    @cached_property
    def function_bytes(self) -> int:
        return folder_bytes(self.function)

    @cached_property
    def files(self) -> list[Path]:
        return sorted(path for path in self.function.rglob("*") if path.is_file())

    def place(self, path: Path) -> str:
        """A file of the function, as people find it in the artifact."""
        return path.relative_to(self.artifact.path).as_posix()

    @cached_property
    def bench(self) -> Bench | None:
        """None without a bench.json; one that cannot be read is an error."""
        return Bench.load(self.artifact.path) if (self.artifact.path / BENCH).exists() else None

    @cached_property
    def known_bench(self) -> Bench | None:
        """The same, but a damaged one counts as none: one check tells of it, and the others go on."""
        try:
            return self.bench
        except ArtifactError:
            return None

    @property
    def memory_mb(self) -> int:
        """What is asked for, or what was recommended, or one vCPU's."""
        bench = self.known_bench
        recommended = bench.recommended.get("balanced") if bench else None
        return self.settings.memory_mb or recommended or MB_PER_VCPU

    @cached_property
    def figures(self) -> Figures | None:
        bench = self.known_bench
        if bench is None:
            return None
        for size in bench.sweep:
            if size.memory_mb == self.memory_mb:
                if not size.fits:
                    return Figures(
                        size.memory_mb, True, 0.0, 0.0, 0.0, bench.peak_mb, size.why or "it did not run"
                    )
                # A sweep asks each shape a few times only: its slowest is nearer to p99 than its own p99.
                slowest = max(max(times) for times in size.warm.values())
                return Figures(size.memory_mb, True, max(size.cold_ms), max(size.init_ms), slowest, size.peak_mb)
        # Work that one core does takes longer in a smaller size, by the share of CPU time that it lacks.
        slower = max(1.0, min(vcpus(bench.memory_mb), 1.0) / min(vcpus(self.memory_mb), 1.0))
        return Figures(
            bench.memory_mb,
            bench.memory_mb == self.memory_mb,
            max(bench.cold.ms) * slower,
            max(bench.cold.init_ms) * slower,
            max(warm.of.p99 for warm in bench.warm.values()) * slower,
            bench.peak_mb,
        )

    @cached_property
    def built_cold_ms(self) -> float | None:
        """A cold start as the build measured it, where it compared candidates."""
        try:
            chosen, *_ = self.artifact.measured()["candidates"]
            return float(chosen["timing"]["cold_ms"])
        except (ArtifactError, LookupError, TypeError, ValueError):  # nothing was compared, or the file is damaged
            return None

    def task_of(self, model: str) -> dict[str, Any]:
        """A model's task.json."""
        text = (self.artifact.model_folder(model) / "task.json").read_text(encoding="utf-8")
        content: dict[str, Any] = json.loads(text)
        return content
