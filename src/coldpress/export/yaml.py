"""YAML as people write CloudFormation in it: blocks, short tags, comments. Only what templates need is here."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

#: needs no quotes wherever it stands, and is a text to every reader of YAML 1.1 and 1.2
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./@-]*(?:(?: |:{1,2}|, )[A-Za-z0-9_./@-]+)*\.?")
_NOT_TEXT = re.compile(r"(?i)y|n|yes|no|on|off|true|false|null")
#: the same between brackets, where commas part the items
_PLAIN_ITEM = re.compile(r"[A-Za-z/][A-Za-z0-9_./@-]*(?:(?: |:{1,2})[A-Za-z0-9_./@-]+)*")
_INDENT = "  "
_WIDTH = 115


@dataclass(frozen=True)
class Tagged:
    """!Ref, !Sub, …"""

    tag: str
    value: Any


@dataclass(frozen=True)
class Verbatim:
    """A text of printable lines, each on a line of its own, the first one not indented."""

    text: str


@dataclass(frozen=True)
class Noted:
    """A value with a comment above its name, and an empty line above that."""

    note: str
    value: Any


def document(content: dict[str, Any], heading: str) -> str:
    """A whole file; its sections stand apart from each other."""
    sections = ["".join(f"{line}\n" for line in _mapping({name: value}, 0)) for name, value in content.items()]
    return "".join(f"# {line}\n" for line in heading.splitlines()) + "".join(f"\n{one}" for one in sections)


def text(value: str) -> str:
    """A text on one line, quoted where it would be read as something else."""
    if _PLAIN.fullmatch(value) and not _NOT_TEXT.fullmatch(value):
        return value
    if value and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return '"' + "".join(_escaped(one) for one in value) + '"'


def _escaped(one: str) -> str:
    if one in '"\\':
        return f"\\{one}"
    if one.isprintable():
        return one
    short = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(one)
    return short or (f"\\u{ord(one):04x}" if ord(one) < 0x10000 else f"\\U{ord(one):08x}")


def _mapping(content: dict[str, Any], depth: int) -> Iterator[str]:
    first = True
    for name, value in content.items():
        if isinstance(value, Noted):
            if not first:
                yield ""
            yield f"{_INDENT * depth}# {value.note}"
        yield from _entry(f"{_INDENT * depth}{text(name)}:", value, depth)
        first = False


def _entry(head: str, value: Any, depth: int) -> Iterator[str]:
    """What follows a name or a dash: on its line, or below it."""
    if isinstance(value, Noted):
        value = value.value
    if isinstance(value, Tagged):
        head, value = f"{head} !{value.tag}", value.value
    match value:
        case Verbatim():
            yield f"{head} |-"
            yield from (f"{_INDENT * (depth + 1)}{line}" for line in value.text.splitlines())
        case dict() if value:
            yield head
            yield from _mapping(value, depth + 1)
        case list() if value:
            short = _flow(value)
            if short and len(head) + len(short) < _WIDTH:
                yield f"{head} {short}"
                return
            yield head
            yield from _sequence(value, depth + 1)
        case _:
            yield f"{head} {_scalar(value)}"


def _sequence(content: list[Any], depth: int) -> Iterator[str]:
    for value in content:
        if isinstance(value, dict) and value:
            lines = list(_mapping(value, depth + 1))
            yield f"{_INDENT * depth}- {lines[0].lstrip()}"
            yield from lines[1:]
        else:
            yield from _entry(f"{_INDENT * depth}-", value, depth)


def _flow(value: Any) -> str | None:
    """On one line, if there are only scalars in it."""
    match value:
        case Tagged():
            inner = _flow(value.value)
            return None if inner is None else f"!{value.tag} {inner}"
        case list():
            items = [_flow(one) for one in value]
            return None if None in items else f"[{', '.join(map(str, items))}]"
        case dict() | Noted() | Verbatim():
            return None
        case str():
            written = text(value)
            return written if written[0] in "'\"" or _PLAIN_ITEM.fullmatch(written) else f"'{written}'"
    return _scalar(value)


def _scalar(value: Any) -> str:
    match value:
        case bool() | int() | float():
            return json.dumps(value)
        case str():
            return text(value)
        case []:
            return "[]"
        case {}:
            return "{}"
    raise TypeError(f"{value!r} has no place in a template")
