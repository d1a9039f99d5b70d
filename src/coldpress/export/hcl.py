"""HCL as `terraform fmt` has it: blocks, and names aligned where they stand on lines of their own."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_INDENT = "  "
_WIDTH = 100
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_KEYWORDS = {"for", "if", "in", "null", "true", "false"}


@dataclass(frozen=True)
class Raw:
    """An expression, as it is to be written."""

    text: str


@dataclass(frozen=True)
class Encoded:
    """A document, as JSON."""

    value: Any


@dataclass(frozen=True)
class Block:
    kind: str
    labels: tuple[str, ...] = ()
    #: values by name, and blocks in a list by their kind
    body: dict[str, Any] = field(default_factory=dict)
    note: str = ""


def document(blocks: list[Block], heading: str = "") -> str:
    parts = [f"# {heading}\n"] if heading else []
    parts += ["".join(f"{line}\n" for line in _block(block, 0)) for block in blocks]
    return "\n".join(parts)


def text(value: str) -> str:
    """A quoted text; what would be a template in it is none."""
    return f'"{_escaped(value)}"'


def template(parts: tuple[Any, ...]) -> Raw:
    """Texts and expressions, one after the other."""
    inner = (_escaped(one) if isinstance(one, str) else f"${{{one.text}}}" for one in parts)
    return Raw(f'"{"".join(inner)}"')


def _escaped(value: str) -> str:
    return re.sub(r"([$%])\{", r"\1\1{", "".join(map(_character, value)))


def _character(one: str) -> str:
    if one in '"\\':
        return f"\\{one}"
    if one.isprintable():
        return one
    short = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(one)
    return short or (f"\\u{ord(one):04x}" if ord(one) < 0x10000 else f"\\U{ord(one):08x}")


def _block(block: Block, depth: int) -> Iterator[str]:
    pad = _INDENT * depth
    if block.note:
        yield f"{pad}# {block.note}"
    head = " ".join([block.kind, *(text(label) for label in block.labels)])
    if not block.body:
        yield f"{pad}{head} {{}}"
        return
    yield f"{pad}{head} {{"
    yield from _body(block.body, depth + 1)
    yield f"{pad}}}"


def _body(body: dict[str, Any], depth: int) -> Iterator[str]:
    """Plain ones first; blocks, and what has many lines, stand apart."""
    pad = _INDENT * depth
    plain: list[tuple[str, list[str]]] = []
    blocks: list[Block] = []
    for name, value in body.items():
        if isinstance(value, list) and value and isinstance(value[0], Block):
            blocks += value
        else:
            plain.append((name, expression(value, depth)))
    yield from _aligned(plain, pad)
    for number, block in enumerate(blocks):
        if plain or number:
            yield ""
        yield from _block(block, depth)


def _aligned(entries: list[tuple[str, list[str]]], pad: str) -> Iterator[str]:
    """Neighbours on single lines have their signs below each other."""
    run: list[tuple[str, str]] = []
    for name, lines in [*entries, ("", [])]:
        if len(lines) == 1:
            run.append((name, lines[0]))
            continue
        width = max((len(one) for one, _ in run), default=0)
        yield from (f"{pad}{one:{width}} = {line}" for one, line in run)
        run = []
        if lines:
            yield f"{pad}{name} = {lines[0]}"
            yield from lines[1:]


def expression(value: Any, depth: int) -> list[str]:
    """Its lines; all but the first one are indented."""
    pad, deeper = _INDENT * depth, _INDENT * (depth + 1)
    match value:
        case Raw():
            return [value.text]
        case Encoded():
            first, *others = expression(value.value, depth)
            return [f"jsonencode({first}", *others[:-1], f"{others[-1]})"]
        case dict() if value:
            entries = [(_key(name), expression(one, depth + 1)) for name, one in value.items()]
            return ["{", *_aligned(entries, deeper), f"{pad}}}"]
        case list() if value:
            return _listed([expression(one, depth + 1) for one in value], depth)
    return [text(value) if isinstance(value, str) else json.dumps(value)]


def _listed(items: list[list[str]], depth: int) -> list[str]:
    short = ", ".join(item[0] for item in items)
    if all(len(item) == 1 for item in items) and len(short) < _WIDTH:
        return [f"[{short}]"]
    found = ["["]
    for first, *others in items:
        *before, last = [f"{_INDENT * (depth + 1)}{first}", *others]
        found += [*before, f"{last},"]
    return [*found, f"{_INDENT * depth}]"]


def _key(name: str) -> str:
    return name if _NAME.fullmatch(name) and name not in _KEYWORDS else text(name)
