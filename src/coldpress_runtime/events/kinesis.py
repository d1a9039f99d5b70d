"""Kinesis: records of a shard, in their order; the first that fails is where Lambda begins again."""

from coldpress_runtime.events.items import Item, records, request_of, text_of
from coldpress_runtime.faults import BadRequest

PARTIAL = True


def items(event: dict[str, object]) -> list[Item]:
    return [_item(record) for record in records(event)]


def _item(record: object) -> Item:
    number = text_of(record, "kinesis", "sequenceNumber")
    return Item(number, text_of(record, "eventID").replace(":", "-")).read(lambda: request_of(_decoded(record)))


def _decoded(record: object) -> str:
    from binascii import Error, a2b_base64

    try:
        return a2b_base64(text_of(record, "kinesis", "data")).decode()
    except (Error, ValueError):
        raise BadRequest(400, "invalid_base64", "the record's data is not base64 of a text") from None


def settle(found: list[Item]) -> None:
    """Nothing after a failure is stored: it will come again, in its order."""
    trouble = None
    for item in found:
        trouble = trouble or item.trouble
        item.trouble = trouble
