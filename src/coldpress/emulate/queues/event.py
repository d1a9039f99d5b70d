"""Messages as the event that Lambda makes of them."""

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from coldpress.emulate.queues.queue import Message
from coldpress.emulate.sandboxes.invocation import LARGEST_EVENT

_HEAD, _TAIL = b'{"Records":[', b"]}"
#: a message, and its record in the event
Recorded = tuple[Message, bytes]


def record(message: Message, arn: str) -> dict[str, Any]:
    """One of an event's records, with all that Lambda tells of a message."""
    made = {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message.get("Body", ""),
        "attributes": message.get("Attributes", {}),
        "messageAttributes": {
            name: _attribute(said) for name, said in message.get("MessageAttributes", {}).items()
        },
        "md5OfBody": message.get("MD5OfBody", ""),
        "eventSource": "aws:sqs",
        "eventSourceARN": arn,
        "awsRegion": arn.split(":")[3],
    }
    if "MD5OfMessageAttributes" in message:
        made["md5OfMessageAttributes"] = message["MD5OfMessageAttributes"]
    return made


def _attribute(said: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"stringListValues": [], "binaryListValues": [], "dataType": said.get("DataType", "")}
    if "StringValue" in said:
        made["stringValue"] = said["StringValue"]
    if "BinaryValue" in said:
        made["binaryValue"] = b64encode(said["BinaryValue"]).decode()
    return made


def recorded(messages: Iterable[Message], arn: str) -> list[Recorded]:
    return [
        (one, json.dumps(record(one, arn), ensure_ascii=False, separators=(",", ":")).encode(errors="replace"))
        for one in messages
    ]


def cut(found: Sequence[Recorded], largest: int = LARGEST_EVENT) -> Iterator[list[Recorded]]:
    """The same in their order, in as many batches as an event's size wants. One that is too large is alone."""
    batch: list[Recorded] = []
    size = empty = len(_HEAD) + len(_TAIL)
    for one in found:
        if batch and size + len(one[1]) + 1 > largest:
            yield batch
            batch, size = [], empty
        batch.append(one)
        size += len(one[1]) + 1
    if batch:
        yield batch


def event_of(batch: Sequence[Recorded]) -> bytes:
    return _HEAD + b",".join(text for _, text in batch) + _TAIL
