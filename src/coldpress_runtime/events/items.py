"""Work that comes many at a time: each item with its id, what is asked, and what came of it."""

from coldpress_runtime.faults import BadRequest
from coldpress_runtime.jsontext import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Item:
    """`key` is where its answer is stored: made from the event's own id, so that a redelivery overwrites it."""

    __slots__ = ("answers", "group", "id", "is_lines", "key", "trouble", "values")

    def __init__(self, id_: str, key: str, group: str = "") -> None:
        self.id = id_
        self.key = key
        #: of those, the later ones must wait for the earlier
        self.group = group
        self.values: list[object] = []
        self.answers: list[str] = []
        #: a line for each value, errors among them; otherwise there is one value
        self.is_lines = False
        #: why there is no answer
        self.trouble: Exception | None = None

    def read(self, make: "Callable[[], object]") -> "Item":
        """With the one value that is asked; what cannot be read is its trouble, and nobody else's."""
        try:
            self.values = [make()]
        except BadRequest as error:
            self.trouble = error
        return self

    @property
    def text(self) -> str:
        return "".join(f"{answer}\n" for answer in self.answers) if self.is_lines else self.answers[0]


def field(record: object, *path: str) -> object:
    """What lies at a path in an event; a BadRequest that names the place where there is nothing."""
    found = record
    for name in path:
        if not isinstance(found, dict) or name not in found:
            raise BadRequest(400, "missing_field", f"the event has no {'.'.join(path)}")
        found = found[name]
    return found


def text_of(record: object, *path: str) -> str:
    found = field(record, *path)
    if not isinstance(found, str):
        raise BadRequest(400, "wrong_type", f"the event's {'.'.join(path)} is no text")
    return found


def request_of(text: str) -> object:
    """What a message asks: JSON, or where it is none the text itself, for those who send plain words."""
    return loads(text) if text.lstrip()[:1] in ("{", "[", '"') else {"text": text}


def records(event: dict[str, object]) -> list[object]:
    found = event.get("Records")
    return found if isinstance(found, list) else []
