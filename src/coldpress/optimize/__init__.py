"""Optimize: proposes recipes for a model, and makes candidates of them."""

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from coldpress.cache import cached
from coldpress.errors import UnsupportedModel
from coldpress.intake.source import Folder, ImageModel, Source
from coldpress.optimize.candidate import Candidate
from coldpress.optimize.recipe import ENGINES, PRECISIONS, Recipe
from coldpress.progress import Progress, Say
from coldpress.tasks import Task
from coldpress.tasks.text import TextTask

__all__ = ["ENGINES", "PRECISIONS", "Candidate", "Recipe", "Workshop", "identity"]


class Workshop:
    """Where candidates for one model are made. The graph is exported once, when it is first asked for."""

    def __init__(self, task: Task, work: Path, show: Progress) -> None:
        self.task = task
        self._show = show
        self._work = work
        self._exported: Path | None = None

    def exported(self) -> Path:
        if self._exported is None:
            from coldpress.optimize.export import export

            with self._show.stage("export") as say:
                kept = self._kept(
                    "export",
                    identity(self.task.source),
                    lambda folder: export(self.task, folder / "exported.onnx", say),
                )
                self._exported = kept / "exported.onnx"
                say(f"{self.task.source.architecture} as a graph, by PyTorch")
        return self._exported

    def recipes(self, engine: str, precision: str) -> Iterator[Recipe]:
        """What is worth trying, the best known first."""
        looks = isinstance(self.task.source, ImageModel)
        known = looks or isinstance(self.task, TextTask)
        if engine == "press" or (engine == "auto" and precision in ("auto", "int8") and known):
            from coldpress.optimize.press import RECIPE, VISION_RECIPE

            yield VISION_RECIPE if looks else RECIPE
        if engine in ("auto", "onnxruntime"):
            from coldpress.optimize.proposals import graph_recipes

            yield from graph_recipes(self.exported(), precision)

        if engine == "torch":
            from coldpress.optimize.torchscript import RECIPES

            yield from (one for name, one in RECIPES.items() if precision in (name, "auto") and name != "fp16")
            if precision == "fp16":
                yield RECIPES["fp16"]

    def gentler(self, recipe: Recipe) -> Iterator[Recipe]:
        """The same in int8, more and more careful."""
        if recipe.engine == "onnxruntime" and recipe.precision == "int8":
            from coldpress.optimize.proposals import gentler_recipes

            yield from gentler_recipes(recipe, self.exported(), self.task.calibration())

    def make(self, recipe: Recipe, say: Say) -> Candidate:
        source = self.task.source
        if recipe.engine == "press":
            folder = self._kept(
                "candidate",
                [identity(source), recipe.json()],
                lambda folder: self._pressed(say, folder).write(folder),
            )
        elif recipe.engine == "torch":
            from coldpress.optimize.torchscript import trace

            folder = self._kept(
                "candidate",
                [identity(source), recipe.json()],
                lambda folder: trace(self.task, recipe, folder, say).write(folder),
            )
        else:
            from coldpress.optimize.graphs import rewrite

            graph = self.exported()
            with graph.open("rb") as file:
                made_from = hashlib.file_digest(file, "sha256").hexdigest()
            folder = self._kept(
                "candidate",
                [identity(source), made_from, recipe.json()],
                lambda folder: rewrite(self.task, recipe, graph, folder, say).write(folder),
            )
        return Candidate.read(folder)

    def _pressed(self, say: Say, folder: Path) -> Candidate:
        from coldpress.optimize.press import press, press_pictures

        task: Any = self.task
        if isinstance(task, TextTask):
            return press(task, folder, say)
        if isinstance(task.source, ImageModel):
            return press_pictures(task, folder, say)
        source = task.source
        raise UnsupportedModel(
            f"the press engine runs encoders of texts and pictures; {source.origin} is a {source.kind}, for "
            f"{source.task}"
        )

    def _kept(self, kind: str, key: Any, make: Callable[[Path], None]) -> Path:
        """A folder from the cache; for a model that lives in memory, whose code is unknown, made anew."""
        if identity(self.task.source) is not None:
            return cached(kind, key, make)
        folder = Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=self._work))
        make(folder)
        return folder


def identity(source: Source) -> Any:
    """All that decides what a model answers; None when that cannot be known."""
    if isinstance(source, Folder):
        facts = asdict(source)
        kept = {key: value for key, value in facts.items() if key not in ("name", "origin", "folder")}
        return _placeless(kept, str(source.folder))
    return None


def _placeless(value: Any, folder: str) -> Any:
    """The same, with files of the model by their place inside: the same model elsewhere is the same."""
    if isinstance(value, dict):
        return {str(key): _placeless(one, folder) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_placeless(one, folder) for one in value]
    if isinstance(value, bool | int | float) or value is None:
        return value
    text = str(value)
    return text.removeprefix(folder) if text == folder or text.startswith(f"{folder}/") else text
