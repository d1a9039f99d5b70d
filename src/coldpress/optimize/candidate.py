"""A candidate: a model on disk, and the recipe that made it."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from coldpress.optimize.recipe import Recipe

_CARD = "candidate.json"


@dataclass(frozen=True)
class Candidate:
    recipe: Recipe
    files: tuple[Path, ...]
    #: file names among `files`: what the engine opens, and the tokenizer unless the model carries it
    model: str
    tokenizer: str | None
    #: texts run together up to this many tokens: more gains no speed on a vCPU, only memory
    batch_tokens: int
    #: what else the engine wants to know, for task.json
    settings: dict[str, Any]

    @property
    def engine(self) -> str:
        return self.recipe.engine

    @property
    def precision(self) -> str:
        return self.recipe.precision

    def bytes(self) -> int:
        return sum(path.stat().st_size for path in self.files)

    def write(self, folder: Path) -> None:
        """Describe the candidate in the folder that holds its files."""
        card = asdict(self) | {"files": [path.name for path in self.files]}
        (folder / _CARD).write_text(json.dumps(card), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "Candidate":
        card = json.loads((folder / _CARD).read_text(encoding="utf-8"))
        card["recipe"] = Recipe.read(card["recipe"], str(folder / _CARD))
        card["files"] = tuple(folder / name for name in card["files"])
        return cls(**card)

    def digest(self) -> str:
        """What the candidate is, whoever made it."""
        seen = hashlib.sha256(json.dumps(asdict(self) | {"files": None}).encode())
        for path in self.files:
            with path.open("rb") as file:
                seen.update(hashlib.file_digest(file, "sha256").digest())
        return seen.hexdigest()
