"""Bulk: a stretch of a file of JSON Lines in a bucket, answered line by line into an object of its own.

A line belongs to the stretch that it begins in, so that whoever cuts a file needs to know its size alone.
Line n of all answers together answers line n of the file; a line that cannot be answered has its error there.
"""

from time import monotonic

from coldpress_runtime import batch
from coldpress_runtime.aws.s3 import Bucket
from coldpress_runtime.events.items import field, text_of
from coldpress_runtime.faults import BadRequest
from coldpress_runtime.jsontext import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: what is read beyond a stretch at first: mostly the rest of its last line is in it
_BEYOND = 4096
#: lines that are asked at once; those of like length then go through the model together
_LINES = 2048
#: what a stretch may have at most, with the rest of its last line: it has to fit into the function's memory
_MOST = 128 * 1024 * 1024

#: open connections to buckets, while nobody uses them: a sandbox answers many stretches, on some Lambdas at once
_idle: dict[str, list[Bucket]] = {}


def answer(task: "Any", event: dict[str, object]) -> str:
    """Read, ask, write; how many lines there were, how many of them got an error, and how long it took."""
    began = monotonic()
    start, stop, size = (_number(event, name) for name in ("start", "stop", "size"))
    if not start <= stop <= size:
        said = f"the event's from has start {start}, stop {stop} and size {size}: that is no stretch"
        raise BadRequest(400, "wrong_value", said)
    key, target, tag = text_of(event, "from", "key"), text_of(event, "to", "key"), text_of(event, "from", "tag")
    source = _take(text_of(event, "from", "bucket"))
    try:
        lines = _lines(lambda first, end: source.get_part(key, first, end - first, tag), start, stop, size)
    finally:
        _give(source)
    body, failed = _answers(task, lines)
    sink = _take(text_of(event, "to", "bucket"))
    try:
        sink.put(target, body, "application/x-ndjson")
    finally:
        _give(sink)
    return dumps({"lines": len(lines), "failed": failed, "ms": int((monotonic() - began) * 1000) + 1})


def _answers(task: "Any", lines: list[bytes]) -> tuple[bytes, int]:
    """A line for each, and how many of them are errors."""
    failed = 0
    made: list[bytes] = []
    for begin in range(0, len(lines), _LINES):
        answers = batch.ask_many(task, [_value(line) for line in lines[begin : begin + _LINES]])
        failed += sum(not isinstance(one, str) for one in answers)
        texts = [one if isinstance(one, str) else batch.as_line(one) for one in answers]
        made.append("\n".join([*texts, ""]).encode())
    return b"".join(made), failed


def _lines(read: "Callable[[int, int], bytes]", start: int, stop: int, size: int) -> list[bytes]:
    """The lines that begin in a stretch, the last one whole; `read` gives the bytes from one place to another."""
    if start == stop:
        return []
    first, end = max(0, start - 1), min(size, stop + _BEYOND)
    pieces = [read(first, end)]
    begin = pieces[0].find(b"\n", 0, stop - first) + 1 if start else 0
    if (start and not begin) or first + begin >= stop:
        return []
    searched, step = stop - 1 - first, _BEYOND
    while (found := pieces[-1].find(b"\n", searched)) < 0 and end < size:
        searched, step = 0, step * 4
        if end + step - first > _MOST:
            raise BadRequest(413, "line_too_long", f"a stretch has more than {_MOST} bytes to its last line's end")
        pieces.append(read(end, min(size, end + step)))
        end += len(pieces[-1])
    if found >= 0:
        pieces[-1] = pieces[-1][:found]
    return b"".join(pieces)[begin:].split(b"\n")


def _value(line: bytes) -> object:
    """A line that is no JSON is told in its own place of the answer."""
    try:
        return loads(line)
    except BadRequest as error:
        return error


def _take(name: str) -> Bucket:
    try:
        return _idle.setdefault(name, []).pop()
    except IndexError:
        return Bucket(name)


def _give(bucket: Bucket) -> None:
    _idle[bucket.name].append(bucket)


def _number(event: dict[str, object], name: str) -> int:
    found = field(event, "from", name)
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise BadRequest(400, "wrong_type", f"the event's from.{name} is no number of bytes")
    return found
