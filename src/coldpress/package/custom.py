"""A function with a person's own code: the tree of any function, the code, and what it requires beside it."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from coldpress.custom.project import Project
from coldpress.emulate.sandbox import interpreter_for
from coldpress.errors import UsageError
from coldpress.optimize.candidate import Candidate
from coldpress.package import requirements
from coldpress.package.bytecode import compile_folder
from coldpress.package.code import place_code
from coldpress.package.function import FunctionTree, place_loop, place_model, python_for, readable, write_spec
from coldpress.package.licences import place_licences
from coldpress.package.requirements import Wheel
from coldpress.tasks import Task

#: what the pressed model is called in the function, by ctx.task(…) and ctx.session(…)
MODEL = "model"


@dataclass(frozen=True)
class Inside:
    """The pressed model that custom code may ask."""

    task: Task
    candidate: Candidate


@dataclass(frozen=True)
class Custom:
    """What a function is made of, whichever architecture it is for."""

    project: Project
    name: str
    #: that requirements are resolved for, and that bytecode is made for
    python: str
    inside: Inside | None = None

    def wheels(self, arch: str, most_bytes: int | None) -> list[Wheel]:
        """What is required, the heaviest first."""
        if not self.project.requirements:
            return []
        return requirements.weigh(requirements.fetch(self.project.requirements, arch, self.python), most_bytes)


def make_custom(custom: Custom, root: Path, arch: str) -> tuple[FunctionTree, list[str]]:
    """The function's tree, and the paths of all that came from the project's folder."""
    project, inside = custom.project, custom.inside
    pythons = place_loop(root)
    folder = root / "models" / custom.name
    versions: dict[str, str] = {}
    if inside is None:
        folder.mkdir(parents=True)
    else:
        versions = place_model(inside.task, inside.candidate, folder / MODEL, root / "lib", arch)
    spec = {"name": custom.name, "task": "custom", "engine": None, "tokenizer": None, "code": project.entry}
    write_spec(folder, {**spec, "models": [MODEL] if inside else []})
    packed = place_code(project.folder, (project.code, *project.files), root / "code")
    _compile(custom, root / "code")
    if project.requirements:
        requirements.unpack(requirements.fetch(project.requirements, arch, custom.python), root / "packages")
        # Packages may hold what is no Python, as templates: such files stay as they are.
        compile_folder(root / "packages", "packages", interpreter_for(custom.python), strict=False)
    place_licences(root / "licenses", ["coldpress", *versions])  # wheels that are required bring their own
    readable(root)
    return FunctionTree(root, arch, versions, _python(custom, arch), pythons), packed


def _compile(custom: Custom, folder: Path) -> None:
    try:
        compile_folder(folder, "code", interpreter_for(custom.python))
    except subprocess.CalledProcessError as error:
        said = error.stderr.rpartition("PyCompileError:")[2].replace("/var/task/code/", "")
        said = " ".join(said.split())[-500:]
        raise UsageError(f"the code does not compile with Python {custom.python}: {said}") from None


def _python(custom: Custom, arch: str) -> str:
    """The one version that the function runs on, or any."""
    needed = {wheel.python for wheel in custom.wheels(arch, None)} - {"any"}
    if custom.inside is not None:
        needed |= {python_for(custom.inside.candidate.engine)} - {"any"}
    if len(needed) > 1:
        raise UsageError(
            f"parts of the function are for Python {' and '.join(sorted(needed))}; it can run on one only: "
            f"set python = {python_for('torch')!r} in coldpress.toml, as torch is installed for that"
        )
    return needed.pop() if needed else "any"
