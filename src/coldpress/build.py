"""From a model to an artifact: the stages in their order."""

import os
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coldpress.artifact import Artifact
from coldpress.errors import DriftError, MissingExtra, UnsupportedModel, UsageError
from coldpress.progress import Progress, Silent
from coldpress.target import replacing

if TYPE_CHECKING:
    from coldpress.intake.source import Source
    from coldpress.optimize import Candidate
    from coldpress.package.function import FunctionTree
    from coldpress.verify import Verdict

PACKAGES = ("zip", "none")


def build(
    model: Any,
    *,
    out: str | os.PathLike[str],
    name: str | None = None,
    precision: str = "int8",
    engine: str = "auto",
    pooling: str | None = None,
    max_tokens: int | None = None,
    max_drift: float | None = None,
    revision: str | None = None,
    tokenizer: Any = None,
    package: str = "zip",
    progress: Progress | None = None,
) -> Artifact:
    """Press `model` into the artifact folder `out`.

    `model` is a folder, a hub id, `demo:minilm`, a sentence-transformers object, or a transformers
    model with its `tokenizer`. What is None is decided by the model itself.
    """
    _need_export()
    from coldpress import intake
    from coldpress.manifest import write_manifest
    from coldpress.optimize import ENGINES, PRECISIONS, engines_for
    from coldpress.package.zip import write_zip

    _one_of("precision", precision, PRECISIONS)
    _one_of("engine", engine, ENGINES)
    _one_of("package", package, PACKAGES)
    if engine == "press" and precision != "int8":
        raise UsageError(f"the press engine computes in int8 only; for {precision} use --engine onnxruntime")
    show = progress or Silent()
    options = intake.Options(name, pooling, max_tokens, revision, tokenizer)
    with replacing(Path(out)) as staging, ExitStack() as stack:
        with show.stage("intake") as say:
            source = stack.enter_context(intake.find(model, options))
            weight = f"{source.weights_bytes / 1e6:.1f} MB of weights"
            say(f"{source.origin}: {source.kind} {source.architecture}, {weight}")
        engines = engines_for(engine, precision)
        for candidate_engine in engines:
            try:
                candidate, tree, verdict = _make(source, candidate_engine, precision, max_drift, staging, show)
                break
            except (UnsupportedModel, DriftError) as reason:
                if candidate_engine == engines[-1]:
                    raise
                with show.stage("next") as say:
                    say(f"not {candidate_engine}: {reason}")
        if package == "zip":
            with show.stage("zip") as say:
                size = write_zip(tree.root, staging / "function.zip", say)
                say(f"function.zip, {size / 1e6:.1f} MB")
        write_manifest(staging, source, candidate, tree, verdict)
    return Artifact.open(out)


def _make(
    source: "Source", engine: str, precision: str, max_drift: float | None, staging: Path, show: Progress
) -> "tuple[Candidate, FunctionTree, Verdict]":
    """The function for one engine, proven right."""
    from coldpress.optimize import optimize
    from coldpress.package.function import make_function
    from coldpress.package.libraries import host_architecture
    from coldpress.verify import verify

    work, root = staging / ".work", staging / "function"
    for folder in (work, root):
        shutil.rmtree(folder, ignore_errors=True)
    work.mkdir()
    with show.stage("optimize") as say:
        candidate = optimize(source, precision, engine, work, say)
    with show.stage("package") as say:
        tree = make_function(source, candidate, root)
        say(f"function for {engine} on {host_architecture()}, bytecode for {', '.join(tree.pythons)}")
    with show.stage("verify") as say:
        verdict = verify(source, tree.root, precision, max_drift)
        say(f"drift {verdict.drift.total:.4f} on {verdict.drift.samples} samples, limit {verdict.limit}")
        verdict.enforce(precision)
    return candidate, tree, verdict


def _one_of(flag: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"--{flag} is {value!r}; it can be: {', '.join(allowed)}")


def _need_export() -> None:
    from importlib.util import find_spec

    for module in ("torch", "transformers", "onnx", "onnxscript", "onnxruntime", "tokenizers", "safetensors"):
        if find_spec(module) is None:
            raise MissingExtra("export", module, "building")
