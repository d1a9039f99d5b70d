"""S3: an object that was made is what is asked: JSON, a request a line, a text, a picture or a sound."""

from coldpress_runtime.events.items import Item, records, text_of
from coldpress_runtime.events.sns import settle as settle
from coldpress_runtime.faults import BadRequest
from coldpress_runtime.jsontext import loads

PARTIAL = False
#: what is read of an object at most: it has to fit into the function's memory
_MOST = 128 * 1024 * 1024
_BYTES = {
    ".jpg": "image",
    ".jpeg": "image",
    ".png": "image",
    ".wav": "audio",
}


def items(event: dict[str, object]) -> list[Item]:
    return [_item(record) for record in records(event)]


def _item(record: object) -> Item:
    bucket, key = text_of(record, "s3", "bucket", "name"), _unquoted(text_of(record, "s3", "object", "key"))
    item = Item(f"s3://{bucket}/{key}", f"{bucket}/{key}")
    try:
        _fill(item, key, _read(bucket, key))
    except BadRequest as error:
        item.trouble = error
    return item


def _fill(item: Item, key: str, data: bytes) -> None:
    dot = key.rfind(".")
    ending = key[dot:].lower() if dot > key.rfind("/") else ""
    if ending in (".jsonl", ".ndjson"):
        item.is_lines = True
        item.values = [_line(line) for line in data.split(b"\n") if line.strip()]
    elif ending in _BYTES:
        item.values = [{_BYTES[ending]: data}]
    elif ending == ".json":
        item.values = [loads(data)]
    else:
        try:
            item.values = [{"text": data.decode()}]
        except UnicodeDecodeError as error:
            raise BadRequest(400, "wrong_type", f"{key[:200]!r} is no text: byte {error.start}") from None


def _line(line: bytes) -> object:
    """A line that is no JSON is told in its own place of the answer."""
    try:
        return loads(line)
    except BadRequest as error:
        return error


def _read(bucket: str, key: str) -> bytes:
    from coldpress_runtime.aws.s3 import Bucket

    place = Bucket(bucket)
    try:
        found = place.look(key)
        if found is None:
            raise BadRequest(404, "not_found", f"s3://{bucket}/{key[:200]} is not there any more")
        if found[0] > _MOST:
            raise BadRequest(
                413, "too_large", f"s3://{bucket}/{key[:200]} has {found[0]} bytes; the limit is {_MOST}: split it"
            )
        return place.get(key)
    finally:
        place.close()


def _unquoted(text: str) -> str:
    """Keys come as in a form: + for a space, % and two digits for what is not plain."""
    from binascii import unhexlify

    first, *rest = text.replace("+", " ").encode().split(b"%")
    made = [first]
    for part in rest:
        try:
            made.append(unhexlify(part[:2]) + part[2:])
        except ValueError:
            made.append(b"%" + part)
    return b"".join(made).decode(errors="replace")
