"""coldpress.toml, read with care: every key is known, every value is of its kind, every path stays inside."""

import json
import re
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import tomllib

from coldpress.errors import UsageError
from coldpress.intake.folder import NAME
from coldpress.package.bytecode import VERSIONS
from coldpress.package.libraries import ARCHITECTURES
from coldpress.tasks import Request

FILE = "coldpress.toml"
#: what each section may hold, and of which kind
_KEYS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "function": {
        "name": str,
        "code": str,
        "files": list,
        "requirements": (list, str),
        "python": str,
        "arch": str,
    },
    "model": {
        "source": str,
        "task": str,
        "engine": str,
        "precision": str,
        "pooling": str,
        "max_tokens": int,
        "max_drift": (float, int),
        "revision": str,
        "quick": bool,
    },
    "samples": {"requests": list},
}
_KINDS = {str: "a text", list: "a list", int: "a whole number", float: "a number", bool: "true or false"}
_CODE = re.compile(r"(?P<path>[^:]+):(?P<name>[A-Za-z_]\w*)")
#: a package, perhaps with extras, versions and a marker; never an option, a path or an address
_REQUIREMENT = re.compile(r"[A-Za-z0-9][\w.-]*(\[[\w., -]*\])?\s*([=<>!~;(][^@]*)?")
#: names that the function's own modules have
_TAKEN = ("handler", "coldpress_runtime", "bootstrap")


@dataclass(frozen=True)
class Project:
    folder: Path
    name: str | None
    #: a .py file or a package's folder, from the project's folder, and the class in it
    code: str
    class_name: str
    files: tuple[str, ...]
    requirements: tuple[str, ...]
    python: str | None
    arch: str | None
    #: what is pressed, and how: arguments of `build`, where they are said
    source: str | None
    wishes: dict[str, Any]
    samples: list[Request]

    @property
    def module(self) -> str:
        return self.code.removesuffix(".py")

    @property
    def entry(self) -> str:
        """As the function's task.json names it."""
        return f"{self.module}:{self.class_name}"


def find_project(model: Any) -> Project | None:
    """The project that `model` names, as a coldpress.toml or a folder that has one; None if it is no project."""
    if not isinstance(model, str | Path):
        return None
    path = Path(model)
    path = path / FILE if path.is_dir() else path
    return read_project(path) if path.name.endswith(".toml") and path.is_file() else None


def read_project(path: Path) -> Project:
    path = path / FILE if path.is_dir() else path
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path} is not there; `coldpress init` writes one") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not TOML: {error}") from None
    _check(content, path)
    function, model = content.get("function", {}), dict(content.get("model", {}))
    folder = path.parent.resolve()
    if "code" not in function:
        raise UsageError(f'{path}: [function] has no code; it names the class, such as code = "model.py:Model"')
    code, class_name = _code(function["code"], folder, path)
    if model and "source" not in model:
        raise UsageError(f"{path}: [model] has no source; it takes a folder, a hub id or demo:minilm")
    return Project(
        folder=folder,
        name=_one_of(function, "name", path),
        code=code,
        class_name=class_name,
        files=tuple(_texts(function.get("files", []), f"{path}: files")),
        requirements=_requirements(function.get("requirements", []), folder, path),
        python=_one_of(function, "python", path, VERSIONS),
        arch=_one_of(function, "arch", path, ARCHITECTURES),
        source=_source(model.pop("source", None), folder),
        wishes=model,
        samples=_samples(content.get("samples", {}).get("requests", []), path),
    )


def _check(content: dict[str, Any], path: Path) -> None:
    for section, values in content.items():
        _known(section, _KEYS, f"{path}: [{section}] is no section")
        if not isinstance(values, dict):
            raise UsageError(f"{path}: {section} is a section, written as [{section}] on a line of its own")
        for key, value in values.items():
            _known(key, _KEYS[section], f"{path}: [{section}] takes no {key!r}")
            wanted = _KEYS[section][key]
            kinds = wanted if isinstance(wanted, tuple) else (wanted,)
            if type(value) not in kinds:  # not isinstance(): true is no whole number here
                names = " or ".join(_KINDS[kind] for kind in kinds)
                raise UsageError(f"{path}: {key} in [{section}] is {value!r}; it must be {names}")


def _known(name: str, known: dict[str, Any], what: str) -> None:
    if name not in known:
        near = get_close_matches(name, known, 1, cutoff=0.5)
        guess = f"; did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"{what}{guess} Known are: {', '.join(known)}")


def _one_of(function: dict[str, Any], key: str, path: Path, allowed: tuple[str, ...] = ()) -> str | None:
    value: str | None = function.get(key)
    if value is None:
        return None
    if allowed and value not in allowed:
        raise UsageError(f"{path}: {key} is {value!r}; it can be: {', '.join(allowed)}")
    if not allowed and not NAME.fullmatch(value):
        raise UsageError(f"{path}: {key} is {value!r}; it takes 1 to 64 letters, digits, - and _")
    return value


def _code(value: str, folder: Path, path: Path) -> tuple[str, str]:
    found = _CODE.fullmatch(value)
    if found is None:
        raise UsageError(f'{path}: code is {value!r}; it names a file or a folder and a class: "model.py:Model"')
    name = found["path"].rstrip("/")
    place = folder / name
    module = name.removesuffix(".py")
    if not module.isidentifier():
        raise UsageError(
            f"{path}: code is {value!r}; the file or folder lies beside {path.name}, named as a module"
        )
    if module in sys.stdlib_module_names or module in _TAKEN:
        raise UsageError(f"{path}: code is {value!r}; a module of Python's or of ours has that name: rename it")
    if place.is_dir() and (place / "__init__.py").is_file():
        return name, found["name"]
    if place.is_file() and place.suffix == ".py":
        return name, found["name"]
    what = "a folder without __init__.py" if place.is_dir() else "no .py file" if place.exists() else "not there"
    raise UsageError(f"{path}: code is {value!r}, and {place} is {what}")


def _requirements(value: list[Any] | str, folder: Path, path: Path) -> tuple[str, ...]:
    if isinstance(value, str):
        place = folder / value
        try:
            lines = place.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{path}: requirements names {value!r}, which cannot be read: {error}") from None
        value = [line for line in (re.sub(r"(^|\s)#.*", "", line).strip() for line in lines) if line]
    for one in _texts(value, f"{path}: requirements"):
        if not _REQUIREMENT.fullmatch(one):
            raise UsageError(
                f"{path}: the requirement {one!r} is no package with a version, such as 'pillow==13.0.0'; "
                "options, paths and addresses are not taken"
            )
    return tuple(value)


def _source(value: str | None, folder: Path) -> str | None:
    """Folders are meant as seen from the toml, hub ids and demo models as they are."""
    return str(folder / value) if value is not None and (folder / value).is_dir() else value


def _samples(requests: list[Any], path: Path) -> list[Request]:
    for at, request in enumerate(requests):
        if not isinstance(request, dict):
            raise UsageError(f'{path}: requests[{at}] in [samples] is {request!r}; it must be {{ text = "…" }}')
        try:
            json.dumps(request, allow_nan=False)
        except (TypeError, ValueError) as error:  # dates, nan and inf are TOML
            raise UsageError(f"{path}: requests[{at}] in [samples] has no JSON form: {error}") from None
    return requests


def _texts(values: list[Any], what: str) -> list[str]:
    for at, value in enumerate(values):
        if not isinstance(value, str):
            raise UsageError(f"{what}[{at}] is {value!r}; it must be a text")
    return values
