"""Recorded traffic: files of arrival times, read as a stream, however large they are.

    .csv, .txt    a time on each line (seconds, or ISO 8601), or `minute,count` or `timestamp,count` per minute
    .jsonl        {"at": seconds, "body": {…}} on each line; without a body the common one is sent
    .json         what `aws cloudwatch get-metric-statistics` or `get-metric-data` wrote
    .log          access logs: common and combined (nginx, Apache), load balancers', CloudFront's
    ….gz          any of these, packed

Times count from the first, so that a log of last week can be sent today.
"""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import IO, Any, cast

from coldpress.errors import UsageError
from coldpress.traffic.columns import COLUMNS, columns
from coldpress.traffic.lines import Numbered, Span, Wrong, numbered, possible
from coldpress.traffic.logs import access_log, cloudwatch
from coldpress.traffic.schedule import Arrival, spread

#: told now and then how many bytes of the file are read
Read = Callable[[int], None]


def arrivals(path: Path, *, scatter: bool = True, seed: int = 0) -> Iterator[Arrival]:
    """Every arrival of `path` in its order. Counts are scattered within their span, or spread evenly."""
    random = Random(seed) if scatter else None  # noqa: S311 - no secret: the same seed gives the same traffic
    for piece in pieces(path):
        if isinstance(piece, Span):
            yield from spread(*piece, random)
        else:
            yield piece


def pieces(path: Path, read: Read | None = None) -> Iterator[Arrival | Span]:
    """What the file says, as it says it: arrivals, or how many within which seconds."""
    packed = path.suffix.lower() == ".gz"
    ending = (Path(path.stem) if packed else path).suffix.lower()
    reader = _READERS.get(ending)
    if reader is None:
        raise UsageError(
            f"{path} is not a trace: its name must end in {', '.join(_READERS)} (or one of these and .gz)"
        )
    found = False
    try:
        with path.open("rb") as file:
            unpacked = cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if packed else file
            for piece in reader(_told(numbered(unpacked, path), file, read)):
                found = found or not isinstance(piece, Span) or piece.requests > 0
                yield piece
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"the trace {path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not found:
        raise UsageError(f"{path} holds no arrivals; a trace has {COLUMNS}, or JSON Lines")


def _told(lines: Numbered, file: IO[bytes], read: Read | None) -> Numbered:
    for number, line in enumerate(lines):
        if read is not None and number % 8192 == 0:
            read(file.tell())
        yield line


def _json_lines(lines: Numbered) -> Iterator[Arrival]:
    first = last = -1.0
    for wrong, line in lines:
        said = _json(line, wrong)
        at = said.get("at")
        if isinstance(at, bool) or not isinstance(at, int | float):
            raise wrong(line, 'has no "at" that is a number of seconds')
        at = possible(at, str(at), wrong)
        if at < last:
            raise wrong(str(at), "is before the time of the line before: sort the trace")
        first = at if first < 0 else first
        last = at
        yield at - first, json.dumps(said["body"]).encode() if "body" in said else None


def _json(line: bytes, wrong: Wrong) -> dict[str, Any]:
    try:
        said = json.loads(line.decode())
    except UnicodeDecodeError:
        raise wrong(line, "is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise wrong(line, f"is not JSON: {str(error)[:80]}") from None
    if not isinstance(said, dict) or not said.keys() <= {"at", "body"}:
        raise wrong(line, 'is not of the form {"at": seconds, "body": {…}}')
    return said


_READERS: dict[str, Callable[[Numbered], Iterator[Arrival | Span]]] = {
    ".csv": columns,
    ".txt": columns,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": cloudwatch,
    ".log": access_log,
}
