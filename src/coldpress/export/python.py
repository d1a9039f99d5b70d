"""Python as people write it: a call with many arguments has one on each line."""

from dataclasses import dataclass
from typing import Any

_INDENT = "    "
_WIDTH = 88


@dataclass(frozen=True)
class Raw:
    """An expression, as it is to be written."""

    text: str


@dataclass(frozen=True)
class Call:
    """A call, with what goes by its place and what goes by its name."""

    what: str
    places: tuple[Any, ...] = ()
    names: tuple[tuple[str, Any], ...] = ()


def call(what: str, *places: Any, **names: Any) -> Call:
    """What is None is left out."""
    return Call(what, places, tuple((name, value) for name, value in names.items() if value is not None))


def text(value: str) -> str:
    """In double quotes, unless others need fewer escapes."""
    quote = quote_for(value)
    return f"{quote}{escaped(value, quote)}{quote}"


def quote_for(value: str) -> str:
    return '"' if value.count('"') <= value.count("'") else "'"


def escaped(value: str, quote: str) -> str:
    """As it stands between two of these quotes."""
    return "".join(
        f"\\{one}" if one in (quote, "\\") else one if one.isprintable() else repr(one)[1:-1] for one in value
    )


def lines(head: str, value: Any, depth: int) -> list[str]:
    """`head` and the value after it; on one line if that is short enough."""
    pad, deeper = _INDENT * depth, _INDENT * (depth + 1)
    short = f"{pad}{head}{expression(value)}"
    if len(short) <= _WIDTH and not _is_broken(value):
        return [short]
    match value:
        case Call():
            items = [("", one) for one in value.places]
            items += [(f"{name}=", one) for name, one in value.names]
            opened, closed = f"{value.what}(", ")"
        case dict() if value:
            items, opened, closed = [(f"{text(name)}: ", one) for name, one in value.items()], "{", "}"
        case list() if value:
            items, opened, closed = [("", one) for one in value], "[", "]"
        case _:
            return [short]
    found = [f"{pad}{head}{opened}"]
    for name, one in items:
        *first, last = lines(name, one, depth + 1)
        found += [*first, f"{last},"]
    assert found[1].startswith(deeper)
    return [*found, f"{pad}{closed}"]


def expression(value: Any) -> str:
    """On one line."""
    match value:
        case Raw():
            return value.text
        case Call():
            items = [expression(one) for one in value.places]
            items += [f"{name}={expression(one)}" for name, one in value.names]
            return f"{value.what}({', '.join(items)})"
        case dict():
            return "{" + ", ".join(f"{text(name)}: {expression(one)}" for name, one in value.items()) + "}"
        case list():
            return f"[{', '.join(expression(one) for one in value)}]"
        case str():
            return text(value)
    return repr(value)


def _is_broken(value: Any) -> bool:
    """Whether it is easier to read on many lines, however short it is."""
    match value:
        case Call():
            return len(value.names) > 3
        case dict():
            return len(value) > 1
    return False
