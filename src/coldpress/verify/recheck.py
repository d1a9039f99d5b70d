"""An artifact, checked again by whoever has it: its files, its answers, and those of other CPUs."""

import base64
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from coldpress.artifact import Artifact
from coldpress.emulate.cpus import CPUS, sandbox_as, twin
from coldpress.emulate.sandbox import Sandbox
from coldpress.errors import FunctionError, UsageError
from coldpress.package.libraries import host_architecture
from coldpress.progress import Progress
from coldpress.tasks import Request, task_class
from coldpress.verify import answer_of
from coldpress.verify.drift import Drift, measure
from coldpress.verify.questions import read_samples
from coldpress_runtime.model import read_spec

#: How far another CPU's answers may be from this one's. Press gives the same bits. In a graph of int8 layers whose
#: activations are quantized as they come, one rounding that falls the other way leads to more (decision 0010).
BETWEEN_CPUS = {"press": 0.0, "fp32": 0.001, "fp16": 0.001, "int8": 0.03}
#: how far answers may be from those in the manifest, whose digits are few
_DIGITS = 2e-3
#: emulation takes its time
MOST_EMULATED = 24


@dataclass(frozen=True)
class Check:
    what: str
    #: a figure and its limit, where it has one
    value: float | None
    limit: float | None
    passed: bool
    #: the same bits, not only close
    identical: bool | None = None


def recheck(artifact: Artifact, cpus: list[str], samples: Path | None, show: Progress) -> list[Check]:
    """All checks, in order; none of them stops the others."""
    for cpu in cpus:
        if cpu not in ("native", *CPUS):
            raise UsageError(f"--cpu has {cpu!r}; it can be: native, {', '.join(CPUS)}")
    checks: list[Check] = []
    with show.stage("files") as say:
        changed = artifact.changed_files()
        checks.append(Check("files are what the manifest says", float(len(changed)), 0, not changed))
        say(f"{len(artifact.manifest['files'])} files, {len(changed)} changed {', '.join(changed[:5])}")
    if artifact.is_many:
        return [*checks, _each_answers(artifact, show)]
    if "custom" in artifact.manifest:
        checks.append(_code_answers(artifact, [] if samples is None else read_samples(samples), show))
        if not artifact.manifest["models"]:
            return checks
        samples = None  # those were for the code; the model inside is asked what its own task is
    requests = _requests(artifact) if samples is None else read_samples(samples)
    with _model_alone(artifact) as alone, twin(alone, artifact.manifest["engine"], host_architecture()) as here:
        with show.stage("native") as say:
            native = _answers(Sandbox(here), [*_expected_requests(artifact), *requests])
            checks.append(_as_expected(_model(artifact)["samples"], native))
            say(f"{len(native)} answers")
        native = native[len(_expected_requests(artifact)) :][:MOST_EMULATED]
        for cpu in [cpu for cpu in cpus if cpu != "native"]:
            with show.stage(cpu) as say, twin(here, artifact.manifest["engine"], CPUS[cpu][0]) as there:
                say(f"{len(native)} answers by emulation")
                answers = _answers(sandbox_as(cpu, there), requests[:MOST_EMULATED])
                drift = measure(native, answers)
                checks.append(_between(cpu, _limit(artifact), drift, native, answers))
                say(f"{len(answers)} answers, drift {drift.total:.6f}")
    return checks


def _each_answers(artifact: Artifact, show: Progress) -> Check:
    """Of many models, each was held against its original by itself; here it must answer as it did then."""
    if artifact.manifest["arch"] != host_architecture():
        return Check("the models answer as their own artifacts did: not asked, for another CPU", None, None, True)
    asked = [one for model in artifact.manifest["models"].values() for one in model["samples"]]
    with show.stage("native") as say:
        native = _answers(Sandbox(artifact.function_folder), [one["request"] for one in asked])
        say(f"{len(native)} answers of {len(artifact.manifest['models'])} models")
    return _as_expected(asked, native)


def _code_answers(artifact: Artifact, more: list[Request], show: Progress) -> Check:
    """Custom code has no truth to be compared with; what it answered when it was built, it must answer still."""
    from coldpress.custom.build import ask

    requests = [sample["request"] for sample in artifact.manifest["custom"]["samples"]] + more
    what, failed = "the code answers its samples", 0
    if artifact.manifest["arch"] != host_architecture():
        return Check(f"{what}: not asked, it is for another CPU", None, None, True)
    with show.stage("code") as say, Sandbox(artifact.function_folder, python=artifact.python) as sandbox:
        for request in requests:
            try:
                ask(sandbox, request)
            except FunctionError as error:
                failed += 1
                say(str(error)[:200])
        say(f"{len(requests)} samples, {failed} not answered")
    return Check(what, float(failed), 0, not failed)


@contextmanager
def _model_alone(artifact: Artifact) -> Iterator[Path]:
    """A function that serves the model itself, without custom code around it."""
    if "custom" not in artifact.manifest:
        yield artifact.function_folder
        return
    (name,) = artifact.manifest["models"]
    with TemporaryDirectory(prefix="coldpress-alone-") as folder:
        alone = Path(folder) / "function"
        shutil.copytree(
            artifact.function_folder, alone, ignore=shutil.ignore_patterns("code", "packages", "models")
        )
        shutil.copytree(artifact.model_folder(name), alone / "models" / name)
        yield alone


def _between(cpu: str, limit: float, drift: Drift, native: list[Any], answers: list[Any]) -> Check:
    same = all(np.array_equal(ours, theirs) for ours, theirs in zip(native, answers, strict=True))
    return Check(f"{cpu} against native", drift.total, limit, drift.total <= limit, same)


def _limit(artifact: Artifact) -> float:
    recipe = _model(artifact)["recipe"]
    return BETWEEN_CPUS["press" if recipe["engine"] == "press" else recipe["precision"]]


def _expected_requests(artifact: Artifact) -> list[Request]:
    return [sample["request"] for sample in _model(artifact)["samples"]]


def _as_expected(samples: list[dict[str, Any]], native: list[Any]) -> Check:
    expected = [np.array(list(_numbers(sample["answer"])), np.float32) for sample in samples]
    farthest = max(
        (
            float(np.abs(ours - right).max() / max(1.0, float(np.abs(right).max())))
            if ours.shape == right.shape
            else float("inf")
            for ours, right in zip(native, expected, strict=False)
        ),
        default=0.0,
    )
    return Check("answers are those in the manifest", farthest, _DIGITS, farthest <= _DIGITS)


def _model(artifact: Artifact) -> dict[str, Any]:
    (model,) = artifact.manifest["models"].values()
    found: dict[str, Any] = model
    return found


def _answers(sandbox: Sandbox, requests: list[Request]) -> list[Any]:
    with sandbox as asked:
        return [np.array(list(_numbers(answer_of(asked, request))), np.float32) for request in requests]


def _numbers(answer: Any) -> Iterator[float]:
    """All numbers in an answer, of whatever task, in their order."""
    if isinstance(answer, dict):
        if answer.keys() == {"type", "shape", "data"}:
            yield from np.frombuffer(base64.b64decode(answer["data"]), answer["type"]).astype(float).tolist()
            return
        for value in answer.values():
            yield from _numbers(value)
    elif isinstance(answer, list):
        for value in answer:
            yield from _numbers(value)
    elif isinstance(answer, int | float):
        yield float(answer)


def _requests(artifact: Artifact) -> list[Request]:
    """Questions for the artifact's task, made from what it says of itself; not too many for emulation."""
    spec = read_spec(str(artifact.model_folder(next(iter(artifact.manifest["models"])))))
    requests: list[Request] = task_class(spec["task"]).asked(spec)
    return requests[:: max(1, len(requests) // MOST_EMULATED)]
