"""A `torch.export` program (.pt2), opened only where nothing in it can run code.

torch.export.load falls back to plain pickles for example inputs and odd tensors, loads compiled libraries, and
parses shapes as Python expressions. So an archive is looked through first, and refused for any of these.
"""

import ast
import io
import json
import pickle
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coldpress.errors import IntakeError, UnsupportedModel
from coldpress.intake.live import describe_module
from coldpress.intake.source import LiveModule, Options
from coldpress.intake.tensors_file import refusal

#: what the sizes of a program are written with, as sympy spells it
_WORDS = frozenset(
    [
        "Symbol",
        "Integer",
        "Rational",
        "Float",
        "Add",
        "Mul",
        "Pow",
        "Mod",
        "PythonMod",
        "FloorDiv",
        "CleanDiv",
        "CeilDiv",
        "CeilToInt",
        "FloorToInt",
        "TruncToInt",
        "IntTrueDiv",
        "FloatTrueDiv",
        "PowByNatural",
        "ToFloat",
        "ModularIndexing",
        "Where",
        "Max",
        "Min",
        "Eq",
        "Ne",
        "Lt",
        "Le",
        "Gt",
        "Ge",
        "Equality",
        "Unequality",
        "StrictLessThan",
        "LessThan",
        "StrictGreaterThan",
        "GreaterThan",
        "And",
        "Or",
        "Not",
        "true",
        "false",
    ]
)
_PARTS = (
    *(ast.Expression, ast.Call, ast.Name, ast.Load, ast.Constant, ast.keyword, ast.BinOp, ast.UnaryOp, ast.USub),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.Compare, ast.cmpop, ast.operator),
)
_CODE = ("data/aotinductor", "data/constants/custom_obj", "data/constants/opaque")
MOST_JSON = 256_000_000


def describe_program(path: Path, options: Options) -> LiveModule:
    import torch

    _look_through(path)
    try:
        program = torch.export.load(path)
    except Exception as error:
        raise IntakeError(f"{path} is refused by torch.export.load: {type(error).__name__}: {error}") from error
    inputs = options.inputs
    if inputs is None and program.example_inputs is not None:
        positional, named = program.example_inputs
        inputs = named if named else positional
    if not inputs:
        raise UnsupportedModel(f"{path} holds no example inputs: give --inputs FILE")
    return describe_module(program.module(), options, inputs, origin=path.name, kind="torch.export program")


def _look_through(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                _entry(path, archive, entry)
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise IntakeError(f"{path} is no archive that torch.export.save wrote: {error}") from error


def _entry(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    import torch

    name = entry.filename.partition("/")[2]
    if name.endswith(".json"):
        if entry.file_size > MOST_JSON:
            raise UnsupportedModel(f"{path} has {name} of {entry.file_size} bytes; the limit is {MOST_JSON}")
        for key, value in _values(json.loads(archive.read(entry))):
            if key == "use_pickle" and value:
                raise UnsupportedModel(refusal(path, ValueError(f"{name} names a pickle")))
            if key == "expr_str" and not _is_size(str(value)):
                raise UnsupportedModel(f"{path} has a size that is no plain expression: {str(value)[:80]!r}")
    elif name.startswith("data/sample_inputs/"):
        try:
            torch.load(io.BytesIO(archive.read(entry)), weights_only=True)
        except pickle.UnpicklingError as error:
            raise UnsupportedModel(refusal(path, error)) from None
    elif name.startswith(
        ("data/aotinductor", "data/constants/custom_obj", "data/constants/opaque")
    ) or name.endswith((".so", ".pkl", ".py")):
        raise UnsupportedModel(f"{path} carries {name}, which is code; save the program without it")


def _is_size(text: str) -> bool:
    """Whether an expression is made of numbers, symbols and arithmetic alone: PyTorch evaluates it."""
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    symbols = re.compile(r"[A-Za-z_]\w*")
    for node in ast.walk(tree):
        if not isinstance(node, _PARTS):
            return False
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in _WORDS):
            return False
        if isinstance(node, ast.Name) and (node.id not in _WORDS and not re.fullmatch(r"[a-z]+\d+", node.id)):
            return False
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not symbols.fullmatch(node.value):
            return False
    return True


def _values(content: Any) -> Iterator[tuple[str, Any]]:
    """All values below all keys, however deep."""
    if isinstance(content, dict):
        for key, value in content.items():
            yield key, value
            yield from _values(value)
    elif isinstance(content, list):
        for value in content:
            yield from _values(value)
