"""A person's own module: `package.module:factory` or `path/file.py:factory`, with weights from a file."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from coldpress.errors import IntakeError, UnsupportedModel, UsageError
from coldpress.intake.live import describe_module
from coldpress.intake.source import LiveModule, Options
from coldpress.intake.tensors_file import state_dict

EXAMPLE = "package.module:factory or path/file.py:factory"


def describe_factory(named: str, weights: Path | None, options: Options) -> LiveModule:
    """Call the factory. It is the person's own code, asked for by name, so it runs here as they would run it."""
    made = _call(named)
    inputs = options.inputs
    if isinstance(made, tuple):
        if len(made) != 2:
            raise UsageError(f"{named} returned {len(made)} things; it returns a module, or (module, inputs)")
        made, own = made
        inputs = own if inputs is None else inputs
    import torch

    if not isinstance(made, torch.nn.Module):
        raise UnsupportedModel(f"{named} returned a {type(made).__name__}, not an nn.Module")
    if inputs is None:
        raise UsageError(
            f"nobody says what {type(made).__name__} is called with: let {named} return (module, inputs), "
            "or give --inputs FILE"
        )
    if weights is not None:
        try:
            made.load_state_dict(state_dict(weights))
        except RuntimeError as error:
            raise IntakeError(f"{weights} does not fit {named}: {' '.join(str(error).split())[:300]}") from None
    return describe_module(made, options, inputs, origin=named, kind="module")


def read_dynamic(text: str) -> dict[str, tuple[int, ...]]:
    """`input:axis,input:axis` as the axes of each input."""
    axes: dict[str, tuple[int, ...]] = {}
    for part in text.split(","):
        name, colon, axis = part.strip().rpartition(":")
        if not colon or not name or not axis.isdecimal():
            raise UsageError(f"--dynamic has {part.strip()!r}; it is input:axis, as in tokens:0,tokens:1")
        axes[name] = (*axes.get(name, ()), int(axis))
    return axes


def _call(named: str) -> Any:
    place, colon, factory = named.rpartition(":")
    if not colon or not place or not factory:
        raise UsageError(f"--module is {named!r}; it is {EXAMPLE}")
    module = _load(place)
    made = getattr(module, factory, None)
    if not callable(made):
        there = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        raise UsageError(f"{place} has no function {factory!r}; it has: {', '.join(there[:10]) or 'none'}")
    try:
        return made()
    except Exception as error:
        raise IntakeError(f"{named}() failed: {type(error).__name__}: {error}") from error


def _load(place: str) -> ModuleType:
    """By path or by name; beside a file, its own folder can be imported from, as when Python runs it."""
    try:
        if not place.endswith(".py"):
            sys.path.insert(0, str(Path.cwd()))
            try:
                return importlib.import_module(place)
            finally:
                sys.path.pop(0)
        path = Path(place).resolve()
        if not path.is_file():
            raise UsageError(f"--module names {place}, which is not there; it is {EXAMPLE}")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.path.insert(0, str(path.parent))
        try:
            spec.loader.exec_module(module)
        finally:
            sys.path.pop(0)
    except UsageError:
        raise
    except Exception as error:
        raise IntakeError(f"{place} cannot be imported: {type(error).__name__}: {error}") from error
    return module
