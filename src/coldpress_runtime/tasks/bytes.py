"""Files that come with a request: pictures or sounds, as bytes over HTTP or in base64."""

from coldpress_runtime.faults import BadRequest
from coldpress_runtime.tasks.texts import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def attached(
    body: "Mapping[str, object]", field: str, thing: str, too_many: str, most: int
) -> list[tuple[str, bytes]]:
    """The one or many files in `field`, each with its place; `too_many` is the code of having more than `most`."""
    given = body.get(field)
    many = given if isinstance(given, list) else [given]
    if not many:
        raise BadRequest(400, "empty_input", f"{field!r} is an empty list; send at least one {thing}")
    if len(many) > most:
        raise BadRequest(
            413, too_many, f"{field!r} holds {len(many)} {thing}s; the limit is {most}: send them in parts"
        )
    return [(f"{field}[{at}]", from_base64(one, f"{field}[{at}]")) for at, one in enumerate(many)]


def from_base64(value: object, place: str) -> bytes:
    """Bytes as they came over HTTP, or in base64, also behind `data:…;base64,`."""
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise BadRequest(400, "wrong_type", f"{place} must be base64 in a text, not {shown(value)}")
    from binascii import Error, a2b_base64

    if value.startswith("data:"):
        value = value.partition(",")[2]
    try:
        data = a2b_base64(value)
    except (Error, ValueError):
        raise BadRequest(400, "invalid_base64", f"{place} is not base64") from None
    if not data:
        raise BadRequest(400, "empty_input", f"{place} is empty")
    return data
