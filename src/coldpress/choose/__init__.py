"""Choose: make each candidate, verify it, measure it, and keep the fastest that is faithful."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from coldpress.choose.pick import pick
from coldpress.choose.timing import time_all
from coldpress.choose.trial import Court, Trial, fitting
from coldpress.errors import ColdpressError, DriftError, ExportError, TooLarge, UnsupportedModel, UsageError
from coldpress.optimize import ENGINES, PRECISIONS, Candidate, Recipe, Workshop
from coldpress.progress import Progress
from coldpress.tasks import Task
from coldpress.verify import Questions, Verdict

__all__ = ["Choice", "Trial", "Wishes", "choose"]


@dataclass(frozen=True)
class Wishes:
    """What a person leaves to be chosen, and what not."""

    engine: str = "auto"
    precision: str = "auto"
    max_drift: float | None = None
    #: take press if it is right, else the better of the two best known
    quick: bool = False
    recipe: Recipe | None = None
    #: the largest function, unzipped; None for as large as it comes
    most_bytes: int | None = None
    #: what is smaller than this goes before what is not
    rather_bytes: int | None = None

    def __post_init__(self) -> None:
        for flag, value, allowed in (("engine", self.engine, ENGINES), ("precision", self.precision, PRECISIONS)):
            if value not in ("auto", *allowed):
                raise UsageError(f"--{flag} is {value!r}; it can be: auto, {', '.join(allowed)}")
        if self.engine == "press" and self.precision not in ("auto", "int8"):
            raise UsageError(
                f"the press engine computes in int8 only; for {self.precision} use --engine onnxruntime"
            )
        if self.max_drift is not None and not self.max_drift > 0:
            raise UsageError(f"--max-drift is {self.max_drift}; it must be more than 0")


@dataclass(frozen=True)
class Choice:
    candidate: Candidate
    verdict: Verdict
    #: as this machine can run it, until the build is over
    function: Path
    #: all that was tried, the chosen one first
    trials: tuple[Trial, ...]


def choose(task: Task, questions: Questions, wishes: Wishes, work: Path, show: Progress) -> Choice:
    court = Court(Workshop(task, work, show), questions, wishes.max_drift, work, show)
    trials: list[Trial] = []
    for trial in _attempts(court, wishes):
        trials.append(trial)
        if wishes.quick and _enough(trials):
            break
    fit = fitting(trials, wishes.rather_bytes) or fitting(trials, wishes.most_bytes)
    if not fit:
        raise _failure(trials, court, wishes)
    if len(fit) > 1 or not (wishes.quick or wishes.recipe):
        with show.stage("measure") as say:
            fit = time_all(fit, task.timed(), say)
            say(f"{len(fit)} right of {len(trials)} tried: cold starts, and warm requests with one thread and two")
    chosen = pick(fit)
    assert chosen.candidate is not None
    assert chosen.verdict is not None
    assert chosen.function is not None
    measured = {trial.recipe: trial for trial in fit}
    others = [measured.get(trial.recipe, trial) for trial in trials if trial.recipe != chosen.recipe]
    return Choice(chosen.candidate, chosen.verdict, chosen.function, (chosen, *others))


def _attempts(court: Court, wishes: Wishes) -> Iterator[Trial]:
    """One recipe after the other; where int8 goes too far, the same with fewer layers in it."""
    if wishes.recipe is not None:
        yield court.attempt(wishes.recipe)
        return
    try:
        for recipe in court.workshop.recipes(wishes.engine, wishes.precision):
            trial = court.attempt(recipe)
            yield trial
            if trial.verdict is None or trial.passed:
                continue
            for gentler in court.workshop.gentler(recipe):
                trial = court.attempt(gentler)
                yield trial
                if trial.passed:
                    break
    except ExportError as error:
        yield Trial(Recipe("onnxruntime", wishes.precision), refused=str(error))


def _enough(trials: list[Trial]) -> bool:
    passed = [trial for trial in trials if trial.passed]
    return len(passed) > 1 or any(trial.recipe.engine == "press" for trial in passed)


def _failure(trials: list[Trial], court: Court, wishes: Wishes) -> ColdpressError:
    """Why nothing can be chosen, and what can."""
    right = [trial for trial in trials if trial.passed]
    if right:
        smallest = min(right, key=lambda trial: trial.function_bytes)
        return TooLarge(
            f"the smallest function that is right, {smallest.recipe.short}, has "
            f"{smallest.function_bytes / 1e6:.0f} MB unzipped; a zip may have "
            f"{(wishes.most_bytes or 0) / 1e6:.0f}. It can only be packed as an image: --package image"
        )
    judged = [(trial.verdict.drift.total, trial) for trial in trials if trial.verdict is not None]
    if not judged:
        reasons = "; ".join(f"{trial.recipe.engine}: {trial.refused}" for trial in trials)
        reasons = (
            reasons or f"there is nothing in this graph that {wishes.precision} could have: try --precision fp32"
        )
        known = "--engine torch" in reasons or wishes.engine == "torch"
        return UnsupportedModel(reasons if known else f"{reasons}. It can be served as it is: --engine torch")
    best = min(judged, key=lambda pair: pair[0])[1]
    return DriftError(f"{best.recipe.short} {best.verdict}; {_way_out(best, court)}")


def _way_out(failed: Trial, court: Court) -> str:
    """The next gentler precision that was seen to pass."""
    for precision in {"int8": ("fp16", "fp32"), "fp16": ("fp32",)}.get(failed.recipe.precision, ()):
        try:
            for recipe in court.workshop.recipes("onnxruntime", precision):
                trial = court.attempt(recipe)
                if trial.passed:
                    return f"--engine onnxruntime --precision {precision} passes ({trial})"
        except ExportError as error:
            return str(error)
    return (
        "the graph does not do what the model does, perhaps because that decides by the values that it sees: "
        "--engine torch serves it as it is"
    )
