"""Steps: what is kept, changed or made; shown before it is done."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

KEEP, CHANGE, CREATE, DELETE, CHECK = "keep", "change", "create", "delete", "check"


@dataclass
class Facts:
    """What later steps need of earlier ones."""

    role: str = ""
    #: a function that had one of the same name must be told: AWS keeps to the old one's id
    role_is_new: bool = False
    #: the function's code, as AWS names it: base64 of its SHA-256, or an image's digest
    code: str = ""
    #: the version that the alias is to point to
    version: str = ""
    url: str = ""
    #: shown once, and nowhere kept
    token: str = ""
    #: who hears how long work goes on
    say: Callable[[str], None] = field(default=lambda words: None, repr=False)


@dataclass(frozen=True)
class Step:
    verb: str
    what: str
    detail: str = ""
    act: Callable[[], None] | None = field(default=None, repr=False)

    @property
    def writes(self) -> bool:
        return self.verb != KEEP


def keep(what: str, detail: str = "") -> Step:
    return Step(KEEP, what, detail)


def different(have: dict[str, Any], want: dict[str, Any]) -> list[str]:
    """Names of what is not as wanted."""
    return [name for name, value in want.items() if have.get(name) != value]
