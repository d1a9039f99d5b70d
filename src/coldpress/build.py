"""From a model to an artifact: the stages in their order."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coldpress.artifact import Artifact
from coldpress.errors import MissingExtra, UsageError
from coldpress.progress import Progress, Silent
from coldpress.target import replacing

if TYPE_CHECKING:  # heavy, and only needed once it is known that all is there
    from coldpress.choose import Choice, Wishes
    from coldpress.intake import Options
    from coldpress.package.pack import Packing
    from coldpress.tasks import Task
    from coldpress.verify import Questions

NEEDED = ("torch", "transformers", "onnx", "onnxscript", "onnxruntime", "tokenizers", "safetensors", "h11")


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
    project: str | os.PathLike[str] | None = None,
    package: str = "auto",
    base: str | None = None,
    layer: bool = False,
    models: "Mapping[str, Any] | None" = None,
    default: str | None = None,
    tenants: str | os.PathLike[str] | None = None,
    models_at: str = "package",
    progress: Progress | None = None,
) -> Artifact:
    """Press `model` into the artifact folder `out`.

    `model` is a folder, a hub id, `demo:minilm`, a file (.onnx, .pt2, TorchScript, an archive), a
    sentence-transformers object, a transformers model with its `tokenizer`, or any `nn.Module` with the
    `inputs` that it is called with; with `module` a factory of one, and `model` may be its weights. What
    is None is decided by the model itself, what is "auto" by measuring.

    A folder with a coldpress.toml is a project: code of one's own, around the model that it names or,
    with `project`, around `model`. What is asked here goes before what the toml says.

    With `models`, by name, all of them are served by one function: each is an artifact, or what `model` may be.
    The `default` answers who names none, `tenants` is a file that says who may use which, and `models_at` where
    their files go: the package, a layer, or s3://bucket/prefix.
    """
    given = dict(locals())
    _need_export()
    if models is not None:
        from coldpress.many.build import build_many

        return build_many(given)
    from coldpress import intake
    from coldpress.choose import Wishes
    from coldpress.custom.project import find_project, read_project
    from coldpress.intake import quarantine
    from coldpress.optimize.recipe import read_recipe
    from coldpress.package.libraries import ARCHITECTURES, host_architecture
    from coldpress.package.pack import Packing

    packing = Packing(package, base, layer)
    if arch not in (None, *ARCHITECTURES):
        raise UsageError(f"--arch is {arch!r}; it can be: {', '.join(ARCHITECTURES)}")
    found = find_project(model) if project is None else read_project(Path(project))
    said = found.wishes if found else {}
    repeated = None if recipe is None else read_recipe(Path(recipe))
    if (allow_torchscript or trust_remote_code) and not quarantine.inside():
        with (progress or Silent()).stage("quarantine") as say:
            say("building in a process without credentials, because code of somebody else's runs there")
            quarantine.build_inside(given | {"progress": None})
        return Artifact.open(out)
    wishes = Wishes(
        said.get("engine", engine) if engine == "auto" else engine,
        said.get("precision", precision) if precision == "auto" else precision,
        said.get("max_drift") if max_drift is None else max_drift,
        quick or said.get("quick", False),
        repeated,
        packing.most_bytes,
        packing.rather_bytes,
    )
    options = intake.Options(
        name=name if found is None else None,
        task=task or said.get("task"),
        pooling=pooling or said.get("pooling"),
        max_tokens=said.get("max_tokens") if max_tokens is None else max_tokens,
        revision=revision or said.get("revision"),
        tokenizer=tokenizer,
        inputs=inputs,
        dynamic=dynamic,
        module=module,
        allow_torchscript=allow_torchscript,
        trust_remote_code=trust_remote_code,
    )
    order = Order(options, wishes, packing, None if samples is None else Path(samples), progress or Silent())
    with replacing(Path(out)) as staging:
        (staging / ".work").mkdir()
        if found is None:
            _build_model(model, order, arch or host_architecture(), staging)
        else:
            from coldpress.custom.build import build_project

            inside = found.source if project is None else model
            target = arch or found.arch or host_architecture()
            build_project(found, inside, order, name, target, staging)
        shutil.rmtree(staging / ".work")
    return Artifact.open(out)


@dataclass(frozen=True)
class Order:
    """What was asked for, whatever is built."""

    options: "Options"
    wishes: "Wishes"
    packing: "Packing"
    samples: Path | None
    show: Progress


@dataclass(frozen=True)
class Pressed:
    task: "Task"
    questions: "Questions"
    choice: "Choice"


@contextmanager
def pressed(model: Any, order: Order, work: Path) -> Iterator[Pressed]:
    """The best that can be made of `model`, valid inside the `with`."""
    from coldpress import intake
    from coldpress.choose import choose
    from coldpress.tasks import task_of
    from coldpress.verify.questions import questions_for

    show = order.show
    with ExitStack() as stack:
        with show.stage("intake") as say:
            source = stack.enter_context(intake.find(model, order.options))
            weight = f"{source.weights_bytes / 1e6:.1f} MB of weights"
            say(f"{source.origin}: {source.kind} {source.architecture} for {source.task}, {weight}")
        with show.stage("truth") as say:
            say("asking the original model")
            does = task_of(source)
            questions = questions_for(does, order.samples)
            say(f"{len(questions.requests)} questions, answered by the original model")
        yield Pressed(does, questions, choose(does, questions, order.wishes, work, show))


def _build_model(model: Any, order: Order, arch: str, staging: Path) -> None:
    from coldpress.manifest import write_manifest
    from coldpress.package.function import make_function
    from coldpress.package.pack import pack

    with pressed(model, order, staging / ".work") as made:
        with order.show.stage("package") as say:
            tree = make_function(made.task, made.choice.candidate, staging / "function", arch)
            say(f"{made.choice.candidate.recipe.short} for {tree.arch}, bytecode for {', '.join(tree.pythons)}")
        name = made.task.source.name
        pack(staging, name, made.choice.candidate.engine, tree, order.packing, order.show)
        write_manifest(staging, name, tree, {name: made})


def _need_export() -> None:
    from importlib.util import find_spec

    for module in NEEDED:
        if find_spec(module) is None:
            raise MissingExtra("export", module, "building")
