"""The artifact: the folder that `build` writes and everything downstream takes."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coldpress.errors import ArtifactError

if TYPE_CHECKING:
    from coldpress.bench.result import Bench
    from coldpress.cost.compare import Row
    from coldpress.progress import Progress

MANIFEST = "coldpress.json"
MEASURED = "measured.json"
ZIP = "function.zip"
LAYER_ZIP = "layer.zip"
#: of many models: a layer that has them, or their files as they will lie in S3
MODELS_ZIP = "models.zip"
STORE = "store"
IMAGE = "image"
SBOM = "sbom.cdx.json"
FORMAT = 1


@dataclass(frozen=True)
class Artifact:
    """An artifact on disk. `manifest` is the content of its coldpress.json."""

    path: Path
    manifest: dict[str, Any]

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Artifact":
        folder = Path(path)
        try:
            manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ArtifactError(
                f"{folder} has no {MANIFEST}: not an artifact. Make one with: coldpress build MODEL --out {folder}"
            ) from None
        except (OSError, ValueError) as error:
            raise ArtifactError(f"{folder / MANIFEST} cannot be read: {error}; build the artifact again") from None
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            found = manifest.get("format") if isinstance(manifest, dict) else None
            raise ArtifactError(
                f"{folder / MANIFEST} has format {found!r}; this coldpress reads format {FORMAT}: build it again"
            )
        return cls(folder, manifest)

    @property
    def name(self) -> str:
        return str(self.manifest["name"])

    @property
    def python(self) -> str:
        """The Python to start the function with: the one it needs, or the one that custom code was tried on."""
        return str(self.manifest.get("custom", self.manifest)["python"])

    def model_folder(self, model: str) -> Path:
        """Where a model of the manifest lies; one that custom code asks lies beside that code's own task.json."""
        models = self.function_folder / "models"
        return models / self.name / model if "custom" in self.manifest else models / model

    @property
    def is_many(self) -> bool:
        """Whether it serves several models, chosen by each request."""
        return "many" in self.manifest

    @property
    def function_folder(self) -> Path:
        return self.path / "function"

    @property
    def zip(self) -> Path | None:
        path = self.path / ZIP
        return path if path.exists() else None

    @property
    def image(self) -> Path | None:
        """An OCI layout."""
        path = self.path / IMAGE
        return path if path.exists() else None

    def function(self) -> Callable[[object], Any]:
        """The function, in this process: give it an event, get its answer."""
        from coldpress_runtime.function import Function

        return Function(str(self.function_folder)).call

    @contextmanager
    def serve(
        self,
        *,
        port: int = 0,
        memory_mb: int = 1769,
        timeout: float = 30.0,
        concurrency: int = 10,
        provisioned: int = 0,
        env: dict[str, str] | None = None,
    ) -> Iterator[str]:
        """A local Lambda with this function while the block runs; its address. Port 0 takes any free one."""
        from coldpress.emulate.front.server import Address
        from coldpress.emulate.sandboxes.settings import Settings
        from coldpress.emulate.serving import Options, running

        settings = Settings(
            name=self.name,
            memory_mb=memory_mb,
            timeout=timeout,
            concurrency=max(concurrency, provisioned),
            provisioned=provisioned,
            env=env or {},
        )
        with running(self.path, settings, Options(Address(port=port))) as served:
            yield served.url

    def bench(
        self,
        *,
        memory_mb: int = 1769,
        cold_runs: int = 20,
        warm_runs: int = 200,
        sweep: Sequence[int] | None = None,
        against: Sequence[str] = (),
        progress: "Progress | None" = None,
    ) -> "Bench":
        """Cold starts, latency and memory, measured here, now; also left in bench.json, with every sample."""
        from coldpress.bench.run import run_bench

        return run_bench(
            self.path,
            memory_mb=memory_mb,
            cold_runs=cold_runs,
            warm_runs=warm_runs,
            sweep=sweep,
            against=against,
            progress=progress,
        )

    def cost(self, *, rate: float = 1.0, region: str = "us-east-1", memory_mb: int | None = None) -> "list[Row]":
        """What its requests cost at a steady rate a second, beside the classic ways; the last rows are its own."""
        from coldpress.cost.book import price_book
        from coldpress.cost.compare import Assumptions, compare
        from coldpress.cost.measured import measured_works

        return compare(measured_works(self.path, memory_mb), Assumptions(rate=rate), price_book(region))

    def measured(self) -> dict[str, Any]:
        """The content of measured.json: every candidate's figures, and the CPU that they were measured on."""
        try:
            content: dict[str, Any] = json.loads((self.path / MEASURED).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ArtifactError(f"{self.path / MEASURED} cannot be read: {error}; build it again") from None
        return content

    def changed_files(self) -> list[str]:
        """Files that are not what the manifest says: changed, missing, or added by somebody."""
        listed: dict[str, str] = self.manifest["files"]
        there = file_hashes(self.path)
        return sorted(name for name in listed.keys() | there.keys() if listed.get(name) != there.get(name))


def file_hashes(root: Path) -> dict[str, str]:
    """sha256 of the function's files and of its packages, by path from the artifact's root."""
    paths = [path for part in ("function", IMAGE, STORE) for path in (root / part).rglob("*") if path.is_file()]
    paths += [root / name for name in (ZIP, LAYER_ZIP, MODELS_ZIP) if (root / name).exists()]
    hashes = {}
    for path in sorted(paths):
        with path.open("rb") as file:
            hashes[path.relative_to(root).as_posix()] = hashlib.file_digest(file, "sha256").hexdigest()
    return hashes


def folder_bytes(root: Path) -> int:
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
