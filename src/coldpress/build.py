"""From a model to an artifact: the stages in their order."""

import os
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from coldpress.artifact import Artifact
from coldpress.errors import MissingExtra, UsageError
from coldpress.progress import Progress, Silent
from coldpress.target import replacing

NEEDED = ("torch", "transformers", "onnx", "onnxscript", "onnxruntime", "tokenizers", "safetensors", "h11")
#: what the function may be packed as, and how large it may then be
PACKAGES = {"zip": 250_000_000, "none": None}


def build(
    model: Any = None,
    *,
    out: str | os.PathLike[str],
    name: str | None = None,
    task: str | None = None,
    precision: str = "auto",
    engine: str = "auto",
    arch: str | None = None,
    quick: bool = False,
    recipe: str | os.PathLike[str] | None = None,
    samples: str | os.PathLike[str] | None = None,
    max_drift: float | None = None,
    pooling: str | None = None,
    max_tokens: int | None = None,
    revision: str | None = None,
    tokenizer: Any = None,
    inputs: Any = None,
    dynamic: dict[str, tuple[int, ...]] | None = None,
    module: str | None = None,
    allow_torchscript: bool = False,
    trust_remote_code: bool = False,
    package: str = "zip",
    progress: Progress | None = None,
) -> Artifact:
    """Press `model` into the artifact folder `out`.

    `model` is a folder, a hub id, `demo:minilm`, a file (.onnx, .pt2, TorchScript, an archive), a
    sentence-transformers object, a transformers model with its `tokenizer`, or any `nn.Module` with the
    `inputs` that it is called with; with `module` a factory of one, and `model` may be its weights. What
    is None is decided by the model itself, what is "auto" by measuring.
    """
    given = dict(locals())
    _need_export()
    from coldpress import intake
    from coldpress.choose import Wishes, choose
    from coldpress.intake import quarantine
    from coldpress.manifest import write_manifest
    from coldpress.optimize.recipe import read_recipe
    from coldpress.package.function import make_function
    from coldpress.package.libraries import ARCHITECTURES, host_architecture
    from coldpress.package.zip import write_zip
    from coldpress.tasks import task_of
    from coldpress.verify.questions import questions_for

    if package not in PACKAGES:
        raise UsageError(f"--package is {package!r}; it can be: {', '.join(PACKAGES)}")
    if arch not in (None, *ARCHITECTURES):
        raise UsageError(f"--arch is {arch!r}; it can be: {', '.join(ARCHITECTURES)}")
    repeated = None if recipe is None else read_recipe(Path(recipe))
    wishes = Wishes(engine, precision, max_drift, quick, repeated, PACKAGES[package])
    show = progress or Silent()
    if (allow_torchscript or trust_remote_code) and not quarantine.inside():
        with show.stage("quarantine") as say:
            say("building in a process without credentials, because code of somebody else's runs there")
            quarantine.build_inside(given | {"progress": None})
        return Artifact.open(out)
    options = intake.Options(
        name=name,
        task=task,
        pooling=pooling,
        max_tokens=max_tokens,
        revision=revision,
        tokenizer=tokenizer,
        inputs=inputs,
        dynamic=dynamic,
        module=module,
        allow_torchscript=allow_torchscript,
        trust_remote_code=trust_remote_code,
    )
    with replacing(Path(out)) as staging, ExitStack() as stack:
        with show.stage("intake") as say:
            source = stack.enter_context(intake.find(model, options))
            weight = f"{source.weights_bytes / 1e6:.1f} MB of weights"
            say(f"{source.origin}: {source.kind} {source.architecture} for {source.task}, {weight}")
        with show.stage("truth") as say:
            say("asking the original model")
            does = task_of(source)
            questions = questions_for(does, None if samples is None else Path(samples))
            say(f"{len(questions.requests)} questions, answered by the original model")
        (staging / ".work").mkdir()
        choice = choose(does, questions, wishes, staging / ".work", show)
        with show.stage("package") as say:
            tree = make_function(does, choice.candidate, staging / "function", arch or host_architecture())
            say(f"{choice.candidate.recipe.short} for {tree.arch}, bytecode for {', '.join(tree.pythons)}")
        if package == "zip":
            with show.stage("zip") as say:
                size = write_zip(tree.root, staging / "function.zip", say)
                say(f"function.zip, {size / 1e6:.1f} MB")
        write_manifest(staging, does, choice, tree, questions.requests)
        shutil.rmtree(staging / ".work")
    return Artifact.open(out)


def _need_export() -> None:
    from importlib.util import find_spec

    for module in NEEDED:
        if find_spec(module) is None:
            raise MissingExtra("export", module, "building")
