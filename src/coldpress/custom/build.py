"""From a project to an artifact: what it requires, the model inside, the code around it, and a first run."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from coldpress.artifact import folder_bytes
from coldpress.build import Order, Pressed, pressed
from coldpress.custom.project import Project
from coldpress.emulate.sandbox import Sandbox
from coldpress.errors import FunctionError, TooLarge, UsageError
from coldpress.intake.folder import function_name
from coldpress.manifest import sample, write_manifest
from coldpress.package.bytecode import VERSIONS, interpreters
from coldpress.package.custom import MODEL, Custom, Inside, make_custom
from coldpress.package.function import FunctionTree, python_for
from coldpress.package.libraries import host_architecture
from coldpress.package.pack import pack
from coldpress.package.requirements import Wheel
from coldpress.tasks import Request


def build_project(project: Project, model: Any, order: Order, name: str | None, arch: str, staging: Path) -> None:
    if model is None and (order.samples or order.wishes.recipe):
        raise UsageError(
            "--samples and --recipe are for a model, and this project presses none: add a [model] to its "
            "coldpress.toml; requests for the code stand in [samples]"
        )
    show, work = order.show, staging / ".work"
    custom = Custom(project, _name(project, name), python_of(project, order.wishes.engine))
    with show.stage("code") as say:
        wheels = custom.wheels(arch, order.wishes.most_bytes)
        required = f"; requires {', '.join(map(str, wheels))}" if wheels else ""
        say(f"{project.code}, class {project.class_name}, for Python {custom.python}{required}")
    with ExitStack() as stack:
        made = {}
        if model is not None:
            made[MODEL] = inside = stack.enter_context(_pressed(model, order, wheels, work))
            custom = replace(custom, inside=Inside(inside.task, inside.choice.candidate))
        with show.stage("package") as say:
            tree, packed = make_custom(custom, staging / "function", arch)
            say(f"{tree.arch}, from the project's folder: {', '.join(packed)}")
        _check_size(tree, wheels, order.wishes.most_bytes)
        with show.stage("first run") as say:
            here = tree
            if arch != host_architecture():
                here, _ = make_custom(custom, work / "here", host_architecture())
            samples = _first_run(here, custom.python, project.samples)
            say(f"loaded, {len(samples)} samples answered")
        engine = next((one.choice.candidate.engine for one in made.values()), None)
        pack(staging, custom.name, engine, tree, order.packing, show)
        described = {
            "code": f"{project.code}:{project.class_name}",
            "python": custom.python,
            "requirements": [asdict(wheel) for wheel in wheels],
            "packed": packed,
            "samples": samples,
        }
        write_manifest(staging, custom.name, tree, made, described)


def python_of(project: Project, engine: str) -> str:
    """The Python that a project is for: the one it says, else the newest that is here."""
    if project.python is not None:
        return project.python
    if engine == "torch":
        return python_for(engine)
    return max(interpreters(), key=lambda version: VERSIONS.index(version) if version in VERSIONS else -1)


def _name(project: Project, asked: str | None) -> str:
    return function_name(asked or project.name, project.folder.name)


@contextmanager
def _pressed(model: Any, order: Order, wheels: list[Wheel], work: Path) -> Iterator[Pressed]:
    """The model, in the room that its surroundings leave."""
    most, taken = order.wishes.most_bytes, sum(wheel.bytes for wheel in wheels)
    rather = order.wishes.rather_bytes
    left = replace(
        order.wishes,
        most_bytes=None if most is None else most - taken,
        rather_bytes=None if rather is None else rather - taken,
    )
    with ExitStack() as stack:
        try:
            made = stack.enter_context(pressed(model, replace(order, wishes=left), work))
        except TooLarge as error:
            if not wheels:
                raise
            raise TooLarge(
                f"{error}. Requirements take {taken / 1e6:.0f} MB of the room: {_named(wheels)}"
            ) from None
        yield made


def _check_size(tree: FunctionTree, wheels: list[Wheel], most: int | None) -> None:
    size = folder_bytes(tree.root)
    if most is not None and size > most:
        raise TooLarge(
            f"the function has {size / 1e6:.0f} MB unzipped; a zip may have {most / 1e6:.0f}. Heaviest of what it "
            f"requires: {_named(wheels) or 'nothing'}. Require or pack less, or make an image: --package image"
        )


def _named(wheels: list[Wheel]) -> str:
    return ", ".join(map(str, wheels[:3]))


def _first_run(tree: FunctionTree, python: str, requests: list[Request]) -> list[dict[str, Any]]:
    """Start the function, in a process of its own with nothing of this one's environment, and ask the samples."""
    with Sandbox(tree.root, python=python) as sandbox:
        try:
            sandbox.ready()
            return [sample(request, ask(sandbox, request)) for request in requests]
        except FunctionError as error:
            log = sandbox.log().strip()[-3000:]
            raise FunctionError(f"{error}\nIts log:\n{log}" if log not in str(error) else str(error)) from None


def ask(sandbox: Sandbox, request: Request) -> bytes:
    """The answer to a request that must be answered."""
    answer = sandbox.invoke(json.dumps(request).encode())
    parsed = json.loads(answer.body)
    if not answer.ok or (isinstance(parsed, dict) and isinstance(parsed.get("error"), dict)):
        asked = json.dumps(request, ensure_ascii=False)[:200]
        raise FunctionError(f"the sample {asked} was not answered: {answer.body.decode()[:1000]}")
    return answer.body
