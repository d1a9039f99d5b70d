"""What a check finds, in three colours that are words as well."""

from dataclasses import dataclass
from typing import Literal

#: nothing to do; it works, and may hurt; it will fail
Level = Literal["green", "yellow", "red"]
LEVELS: tuple[Level, ...] = ("red", "yellow", "green")


@dataclass(frozen=True)
class Finding:
    """One line of the page. What is not green says why it matters, and what to do."""

    level: Level
    name: str
    what: str
    #: a command or a setting, where there is one
    fix: str = ""
    why: str = ""


def green(name: str, what: str) -> Finding:
    return Finding("green", name, what)


def yellow(name: str, what: str, *, why: str, fix: str) -> Finding:
    return Finding("yellow", name, what, fix, why)


def red(name: str, what: str, *, why: str, fix: str) -> Finding:
    return Finding("red", name, what, fix, why)


def few(names: list[str], most: int = 3) -> str:
    """The first of many, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
