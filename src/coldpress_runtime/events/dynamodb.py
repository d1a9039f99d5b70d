"""DynamoDB's streams: a new or changed row is what is asked; rows that went away ask nothing."""

from coldpress_runtime.events.items import Item, field, records, text_of
from coldpress_runtime.events.kinesis import settle as settle
from coldpress_runtime.faults import BadRequest

PARTIAL = True


def items(event: dict[str, object]) -> list[Item]:
    kept = [record for record in records(event) if not _is_removed(record)]
    return [
        Item(text_of(one, "dynamodb", "SequenceNumber"), text_of(one, "eventID")).read(lambda one=one: _row(one))  # type: ignore[misc]
        for one in kept
    ]


def _is_removed(record: object) -> bool:
    return isinstance(record, dict) and record.get("eventName") == "REMOVE"


def _row(record: object) -> object:
    image = field(record, "dynamodb", "NewImage")
    if not isinstance(image, dict):
        raise BadRequest(400, "wrong_type", "the stream's NewImage is no row: its view must have new images")
    return {name: plain(value) for name, value in image.items()}


def plain(value: object) -> object:
    """{"S": "text"} is a text, and so on through all of DynamoDB's types."""
    if not isinstance(value, dict) or len(value) != 1:
        raise BadRequest(400, "wrong_type", f"{str(value)[:80]!r} is no value of DynamoDB's")
    ((kind, inner),) = value.items()
    if kind in ("S", "BOOL", "B", "SS", "BS"):
        return inner
    if kind == "NULL":
        return None
    if kind == "N":
        return _number(inner)
    if kind == "NS" and isinstance(inner, list):
        return [_number(one) for one in inner]
    if kind == "L" and isinstance(inner, list):
        return [plain(one) for one in inner]
    if kind == "M" and isinstance(inner, dict):
        return {name: plain(one) for name, one in inner.items()}
    raise BadRequest(400, "wrong_type", f"DynamoDB has no type {str(kind)[:20]!r}")


def _number(text: object) -> int | float:
    try:
        return int(str(text))
    except ValueError:
        pass
    try:
        return float(str(text))
    except ValueError:
        raise BadRequest(400, "wrong_type", f"{str(text)[:40]!r} is no number") from None
