"""SQS: a batch is one forward pass; what fails comes back, and nothing that is good is done twice."""

from coldpress_runtime.events.items import Item, records, request_of, text_of

#: Lambda takes the good ones out of the queue, and gives the others again
PARTIAL = True


def items(event: dict[str, object]) -> list[Item]:
    return [_item(record) for record in records(event)]


def _item(record: object) -> Item:
    name = text_of(record, "messageId")
    attributes = record.get("attributes") if isinstance(record, dict) else None
    group = attributes.get("MessageGroupId", "") if isinstance(attributes, dict) else ""
    return Item(name, name, str(group)).read(lambda: request_of(text_of(record, "body")))


def settle(found: list[Item]) -> None:
    """In a queue with groups, what comes after a failure in its group waits for it."""
    failed: dict[str, Exception] = {}
    for item in found:
        if item.group and item.trouble is None and item.group in failed:
            item.trouble = failed[item.group]
        elif item.group and item.trouble is not None:
            failed.setdefault(item.group, item.trouble)
