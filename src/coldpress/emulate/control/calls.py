"""One call of the API: what its path, query and body say, with the checks that all operations share."""

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, TypeGuard, TypeVar

from coldpress.emulate.control import errors, names

_T = TypeVar("_T")
Said = dict[str, Any]


@dataclass(frozen=True)
class Call:
    path: dict[str, str]
    query: dict[str, list[str]] = field(default_factory=dict)
    body: Said = field(default_factory=dict)
    #: how this server was reached: http://127.0.0.1:9000
    base: str = ""

    def asked(self, name: str) -> str:
        """A parameter of the query."""
        return self.query.get(name, [""])[0]

    @property
    def target(self) -> tuple[str, str]:
        """The function's name, and the qualifier or nothing."""
        return names.split(self.path["FunctionName"], self.asked("Qualifier"))


def is_plain(value: object) -> TypeGuard[str]:
    """A text that a process can be given: without NUL, and with nothing that UTF-8 cannot say."""
    if not isinstance(value, str) or "\0" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def text(said: Said, name: str, longest: int = 256) -> str | None:
    value = said.get(name)
    if value is None:
        return None
    if not is_plain(value) or len(value) > longest:
        raise errors.invalid(f"{name} is {_short(value)}: it must be a text of at most {longest} characters")
    return value


def whole(said: Said, name: str, least: int, most: int) -> int | None:
    value = said.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise errors.invalid(f"{name} is {_short(value)}: it must be a whole number from {least} to {most}")
    return value


def one_of(said: Said, name: str, choices: tuple[str, ...]) -> str | None:
    value = said.get(name)
    if value is None:
        return None
    if value not in choices:
        raise errors.invalid(f"{name} is {_short(value)}: it can be {', '.join(choices)}")
    return str(value)


def mapping(said: Said, name: str) -> Said | None:
    value = said.get(name)
    if value is None:
        return None
    if not isinstance(value, dict):
        raise errors.invalid(f"{name} is {_short(value)}: it must be an object")
    return value


def page(call: Call, items: list[_T], key: Callable[[_T], str], most: int = 50) -> tuple[list[_T], Said]:
    """A page of what is listed, and where the next begins. A marker names the last item, so that what is
    deleted between two pages moves nothing."""
    asked = call.asked("MaxItems")
    if asked and (not asked.isdecimal() or not 1 <= int(asked) <= 10_000):
        raise errors.invalid(f"MaxItems is {asked!r}: it must be a whole number from 1 to 10000")
    if marker := call.asked("Marker"):
        try:
            last = b64decode(marker, altchars=b"-_", validate=True).decode()
        except ValueError:
            raise errors.invalid(f"Marker is {marker[:64]!r}: take NextMarker of the page before") from None
        keys = [key(item) for item in items]
        items = items[keys.index(last) + 1 :] if last in keys else [item for item in items if key(item) > last]
    size = min(int(asked or most), most)
    if len(items) <= size:
        return items, {}
    return items[:size], {"NextMarker": urlsafe_b64encode(key(items[size - 1]).encode()).decode()}


def now() -> str:
    """As Lambda writes it."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "+0000"


def _short(value: object) -> str:
    return repr(value)[:80]
