"""A recipe on trial: made, put into a function as this machine would run it, and verified there."""

import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coldpress.artifact import folder_bytes
from coldpress.cache import cached
from coldpress.emulate.sandbox import Sandbox
from coldpress.errors import DriftError, FunctionError, UnsupportedModel
from coldpress.optimize import Candidate, Recipe, Workshop
from coldpress.package.function import make_function
from coldpress.package.libraries import host_architecture
from coldpress.progress import Progress
from coldpress.verify import Questions, Verdict, limit_for, verify

_FILE = "verdict.json"


@dataclass(frozen=True)
class Timing:
    """Medians on one core; cold is process start to first answer."""

    cold_ms: float
    peak_mb: float
    #: by the names that the task gives to its shapes
    warm_ms: dict[str, float]
    #: the same with two threads on two cores; empty where there is but one
    warm_two_threads_ms: dict[str, float]


@dataclass(frozen=True)
class Trial:
    recipe: Recipe
    #: why there is nothing to measure, if so
    refused: str | None = None
    candidate: Candidate | None = None
    function: Path | None = None
    function_bytes: int = 0
    verdict: Verdict | None = None
    timing: Timing | None = None

    @property
    def passed(self) -> bool:
        return self.verdict is not None and self.verdict.passed

    def __str__(self) -> str:
        """What came of it."""
        if self.verdict is None:
            return self.refused or "not tried"
        return f"drift {self.verdict.drift.total:.4f}" + ("" if self.passed else f", over {self.verdict.limit:g}")

    def json(self) -> dict[str, Any]:
        return {
            "recipe": self.recipe.json(),
            "refused": self.refused,
            "function_bytes": self.function_bytes or None,
            "model_bytes": self.candidate.bytes() if self.candidate else None,
            "verdict": self.verdict.json() if self.verdict else None,
            "timing": vars(self.timing) if self.timing else None,
        }


@dataclass(frozen=True)
class Court:
    """Where recipes are tried, one after the other."""

    workshop: Workshop
    questions: Questions
    max_drift: float | None
    work: Path
    show: Progress

    def attempt(self, recipe: Recipe) -> Trial:
        """Make what a recipe says, and see whether its answers are right."""
        root = Path(tempfile.mkdtemp(prefix="trial-", dir=self.work)) / "function"
        limit = limit_for(recipe.precision, self.max_drift)
        try:
            if recipe.engine == "onnxruntime":
                self.workshop.exported()
            with self.show.stage("optimize") as say:
                candidate = self.workshop.make(recipe, say)
                make_function(self.workshop.task, candidate, root, host_architecture())
                say(f"{recipe.short}: {candidate.bytes() / 1e6:.1f} MB")
            with self.show.stage("verify") as say:
                trial = Trial(recipe, None, candidate, root, folder_bytes(root))
                trial = replace(trial, verdict=self._verdict(candidate, limit, root))
                say(f"{recipe.short}: {trial}")
        except (UnsupportedModel, DriftError, FunctionError) as reason:
            with self.show.stage("refused") as say:
                say(f"{recipe.short}: {reason}")
            return Trial(recipe, refused=str(reason))
        return trial

    def _verdict(self, candidate: Candidate, limit: float, root: Path) -> Verdict:
        def make(folder: Path) -> None:
            judged = verify(self.workshop.task, self.questions, lambda: Sandbox(root), limit)
            (folder / _FILE).write_text(json.dumps(judged.json()), encoding="utf-8")

        kept = cached("verdict", [candidate.digest(), self.questions.digest(), limit], make)
        return Verdict.read(json.loads((kept / _FILE).read_text(encoding="utf-8")))


def fitting(trials: Iterable[Trial], most_bytes: int | None) -> list[Trial]:
    """Those that are right and small enough."""
    return [
        trial for trial in trials if trial.passed and (most_bytes is None or trial.function_bytes <= most_bytes)
    ]
