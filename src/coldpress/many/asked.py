"""The models and tenants that a person asks for, read and checked."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coldpress.artifact import MANIFEST
from coldpress.errors import UsageError

#: in a path and in a file's name alike
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
#: where the models' files go
PACKAGE, LAYER = "package", "layer"


@dataclass(frozen=True)
class Asked:
    """`models` by name: artifacts, or whatever `build` takes. `at` says where their files go."""

    models: dict[str, Any]
    default: str | None = None
    tenants: dict[str, Any] | None = None
    at: str = PACKAGE

    def __post_init__(self) -> None:
        if not self.models:
            raise UsageError("--models names no model: say --models a=MODEL,b=MODEL, or a folder of artifacts")
        for name in self.models:
            if not _NAME.fullmatch(name) or name == "index.json":
                raise UsageError(
                    f"{name!r} cannot name a model: a path takes letters, digits, '.', '-' and '_', at most 64"
                )
        if self.default is not None and self.default not in self.models:
            raise UsageError(f"--default is {self.default!r}; it can be: {', '.join(self.models)}")
        if self.at not in (PACKAGE, LAYER) and not re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]+(/.*)?", self.at):
            raise UsageError(f"--models-at is {self.at!r}; it can be: {PACKAGE}, {LAYER}, s3://BUCKET/PREFIX")

    @property
    def store(self) -> str | None:
        return self.at.rstrip("/") if self.at.startswith("s3://") else None


def read_models(said: Iterable[str]) -> dict[str, Any]:
    """From the command line: NAME=MODEL, several with commas between them, or a folder that holds artifacts."""
    found: dict[str, Any] = {}
    for part in (part for one in said for part in one.split(",") if part):
        name, equals, model = part.partition("=")
        pairs = {name: model} if equals else _artifacts_in(Path(part))
        for twice in found.keys() & pairs.keys():
            raise UsageError(f"--models names {twice!r} twice: each model has a name of its own")
        found |= pairs
    return found


def _artifacts_in(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise UsageError(f"--models {str(folder)!r} is neither NAME=MODEL nor a folder of artifacts")
    found = {path.parent.name: str(path.parent) for path in sorted(folder.glob(f"*/{MANIFEST}"))}
    if not found:
        raise UsageError(f"--models {str(folder)!r} holds no artifact: no folder in it has a {MANIFEST}")
    return found
