"""Reading the texts of a request: every way of being wrong gets its own sentence."""

from coldpress_runtime.faults import BadRequest
from coldpress_runtime.jsontext import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SHOWN = 40


def shown(value: object) -> str:
    """A value as an error message shows it: short, whatever came in."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def fields(body: object, example: str) -> "Mapping[str, object]":
    if isinstance(body, dict):
        return body
    raise BadRequest(400, "wrong_type", f"the request must be a JSON object such as {example}, not {shown(body)}")


def texts(body: "Mapping[str, object]", field: str, limits: "Mapping[str, int]") -> list[str]:
    """The one or many texts in `field`, checked and safe to hand to a tokenizer."""
    if field not in body:
        there = ", ".join(shown(key) for key in list(body)[:5]) or "no field at all"
        raise BadRequest(400, "missing_field", f"the field {field!r} is missing; the request has {there}")
    given = body[field]
    many = [given] if isinstance(given, str) else given
    if not isinstance(many, list):
        raise BadRequest(400, "wrong_type", f"{field!r} must be a text or a list of texts, not {shown(given)}")
    if not many:
        raise BadRequest(400, "empty_input", f"{field!r} is an empty list; send at least one text")
    if len(many) > limits["texts"]:
        raise BadRequest(
            413,
            "too_many_texts",
            f"{field!r} holds {len(many)} texts; the limit is {limits['texts']}: send them in parts",
        )
    return [_text(one, f"{field}[{at}]", limits["characters"]) for at, one in enumerate(many)]


def together(body: "Mapping[str, object]", field: str) -> str | None:
    """Requests with the same key may be one, their texts side by side: all else is the same. None: alone."""
    if not isinstance(body.get(field), (str, bytes)):
        return None
    try:
        return dumps({name: value for name, value in sorted(body.items()) if name != field})
    except (TypeError, ValueError):  # names that are no texts, or bytes
        return None


def merged(bodies: "Sequence[Mapping[str, object]]", field: str) -> "dict[str, object]":
    return {**bodies[0], field: [body[field] for body in bodies]}


def _text(value: object, place: str, limit: int) -> str:
    if not isinstance(value, str):
        hint = "; token ids are not accepted, send the text itself" if isinstance(value, (int, list)) else ""
        raise BadRequest(400, "wrong_type", f"{place} must be a text, not {shown(value)}{hint}")
    if len(value) > limit:
        raise BadRequest(
            413,
            "text_too_long",
            f"{place} has {len(value)} characters; the limit is {limit}: shorten or split it",
        )
    try:
        value.encode()
    except UnicodeEncodeError:  # a lone surrogate, as "\ud800" in JSON; it stands for no character
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in value)
    return value


def flag(body: "Mapping[str, object]", field: str, default: bool) -> bool:
    value = body.get(field, default)
    if not isinstance(value, bool):
        raise BadRequest(400, "wrong_type", f"{field!r} must be true or false, not {shown(value)}")
    return value


def names(body: "Mapping[str, object]", field: str, default: list[str]) -> list[str]:
    value = body.get(field, default)
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise BadRequest(400, "wrong_type", f"{field!r} must be a list of texts, not {shown(value)}")
    return value
