"""A recipe: all that decides how a candidate is made. It is written down, and can be followed again."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from coldpress.errors import UsageError

ENGINES = ("press", "onnxruntime", "torch")
PRECISIONS = ("fp32", "fp16", "int8")


@dataclass(frozen=True)
class Recipe:
    engine: str
    precision: str
    #: in the order in which they are applied; what follows a colon is a rewrite's setting
    rewrites: tuple[str, ...] = ()
    #: layers that stay in floats, by name
    keep: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [self.engine, self.precision, *self.rewrites]
        return " ".join([*parts, f"keep {len(self.keep)} layers"] if self.keep else parts)

    @property
    def short(self) -> str:
        parts = [self.engine, self.precision]
        return " ".join([*parts, f"but {len(self.keep)} layers"] if self.keep else parts)

    def json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, content: Any, where: str) -> "Recipe":
        """A recipe from a file; what is wrong with it is said with the place that it stands in."""
        if not isinstance(content, Mapping) or not {"engine", "precision"} <= content.keys():
            raise UsageError(f"{where} is no recipe: it needs at least an engine and a precision")
        engine, precision = content["engine"], content["precision"]
        for field, value, allowed in (("engine", engine, ENGINES), ("precision", precision, PRECISIONS)):
            if value not in allowed:
                raise UsageError(f"{where} has the {field} {value!r}; it can be: {', '.join(allowed)}")
        return cls(engine, precision, _names(content, "rewrites", where), _names(content, "keep", where))


def _names(content: Mapping[str, Any], field: str, where: str) -> tuple[str, ...]:
    names = content.get(field, [])
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise UsageError(f"{where} has {field} that are no list of names: {str(names)[:80]}")
    return tuple(names)


def read_recipe(path: Path) -> Recipe:
    """The recipe in a coldpress.json, or in a file that holds nothing else."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"--recipe {path} cannot be read: {error}") from None
    if isinstance(content, dict) and isinstance(content.get("models"), dict):
        recipes = [model.get("recipe") for model in content["models"].values() if isinstance(model, dict)]
        if len(recipes) != 1:
            raise UsageError(f"--recipe {path} has {len(recipes)} models; a build has one")
        content = recipes[0]
    return Recipe.read(content, f"--recipe {path}")
