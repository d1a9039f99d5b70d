"""Dataclasses from parsed JSON, checked field by field: a damaged file is named by the place of its damage."""

import math
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

_Made = TypeVar("_Made")


class Damaged(ValueError):
    """What is wrong, and where."""


def read_as(kind: type[_Made], value: object, where: str) -> _Made:
    """`value` as a `kind`: a dataclass, a list or dict of what this reads, a number, a text, or None."""
    made: Any = _read(kind, value, where)
    return made  # type: ignore[no-any-return]


def _read(kind: Any, value: object, where: str) -> object:
    if get_origin(kind) is UnionType:
        if value is None and NoneType in get_args(kind):
            return None
        (kind,) = (one for one in get_args(kind) if one is not NoneType)
    if is_dataclass(kind) and isinstance(kind, type):
        return _made(kind, value, where)
    if get_origin(kind) is list:
        if not isinstance(value, list):
            raise Damaged(f"{where} is {_shown(value)}, not a list")
        (inner,) = get_args(kind)
        return [_read(inner, one, f"{where}[{at}]") for at, one in enumerate(value)]
    if get_origin(kind) is dict:
        if not isinstance(value, dict):
            raise Damaged(f"{where} is {_shown(value)}, not an object")
        return {key: _read(get_args(kind)[1], one, f"{where}[{key!r}]") for key, one in value.items()}
    return _plain(kind, value, where)


def _made(kind: type, value: object, where: str) -> object:
    if not isinstance(value, dict):
        raise Damaged(f"{where or 'the file'} is {_shown(value)}, not an object")
    hints, names = get_type_hints(kind), [one.name for one in fields(kind)]
    prefix = f"{where}." if where else ""
    lost = [name for name in names if name not in value]
    if lost:
        raise Damaged(f"{prefix}{lost[0]} is missing")
    # What a newer coldpress added and did not need a new format for is passed over.
    return kind(**{name: _read(hints[name], value[name], f"{prefix}{name}") for name in names})


def _plain(kind: Any, value: object, where: str) -> object:
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise Damaged(f"{where} is {value}, not a number")
        return float(value)
    if kind is int and isinstance(value, bool):
        raise Damaged(f"{where} is {_shown(value)}, not int")
    if not isinstance(value, kind):
        raise Damaged(f"{where} is {_shown(value)}, not {kind.__name__}")
    found: object = value
    return found


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
