"""SNS: a message is what is asked."""

from coldpress_runtime.events.items import Item, records, request_of, text_of

#: Lambda gives all of it again, or nothing
PARTIAL = False


def items(event: dict[str, object]) -> list[Item]:
    return [
        Item(name, name).read(lambda record=record: request_of(text_of(record, "Sns", "Message")))  # type: ignore[misc]
        for record in records(event)
        for name in [text_of(record, "Sns", "MessageId")]
    ]


def settle(found: list[Item]) -> None:
    """Each stands for itself."""
