"""Amazon's event stream: framed messages with typed headers and checksums, as InvokeWithResponseStream answers."""

from struct import pack
from zlib import crc32

_STRING = 7


def message(headers: dict[str, str], payload: bytes) -> bytes:
    fields = b"".join(
        pack(f">B{len(name)}sBH", len(name), name.encode(), _STRING, len(value.encode())) + value.encode()
        for name, value in headers.items()
    )
    prelude = pack(">II", 16 + len(fields) + len(payload), len(fields))
    prelude += pack(">I", crc32(prelude))
    body = prelude + fields + payload
    return body + pack(">I", crc32(body))


def event(kind: str, content_type: str, payload: bytes) -> bytes:
    return message({":event-type": kind, ":content-type": content_type, ":message-type": "event"}, payload)
