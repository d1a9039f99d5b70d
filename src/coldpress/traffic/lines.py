"""Lines of a file from outside, one at a time: where each is, what a time may be, how to say what is wrong."""

import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

from coldpress.errors import UsageError

MINUTE = 60.0
#: Lambda takes 6 MB; a file without line ends must not be read as one line
_LONGEST_LINE = 8 << 20

Wrong = Callable[[bytes | str, str], UsageError]
Numbered = Iterator[tuple[Wrong, bytes]]


class Span(NamedTuple):
    """So many arrivals within some seconds: a trace that counts does not say when exactly."""

    start: float
    width: float
    requests: int


def numbered(file: IO[bytes], path: Path) -> Numbered:
    """Lines that are not blank, each with a way to say what is wrong with it."""
    for number, line in enumerate(iter(partial(file.readline, _LONGEST_LINE + 1), b""), 1):
        stripped = (line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line).strip()
        if len(line) > _LONGEST_LINE:
            raise wrong_line(path, number, stripped, f"is longer than a line may be: {_LONGEST_LINE:,} bytes")
        if stripped:
            yield partial(wrong_line, path, number), stripped


def wrong_line(path: Path, number: int, value: bytes | str, says: str) -> UsageError:
    text = value if isinstance(value, str) else value[:200].decode(errors="backslashreplace")
    short = text if len(text) <= 60 else text[:60] + "…"
    return UsageError(f"{path}, line {number}: {short!r} {says}")


def possible(at: float, said: bytes | str, wrong: Wrong) -> float:
    if 1e11 <= at < math.inf:  # a float has microseconds left up to here
        raise wrong(said, "is more seconds than a time can be: are these milliseconds?")
    if not 0 <= at < 1e11:  # also what is not a number
        raise wrong(said, "is not a possible time: 0 or more, and finite")
    return at


def iso_time(text: bytes, wrong: Wrong) -> float:
    if b"," in text:
        raise wrong(text, "has more than one column; the lines before have one, a time")
    try:
        said = datetime.fromisoformat(text.strip(b'"').decode())
        return (said if said.tzinfo else said.replace(tzinfo=UTC)).timestamp()
    except UnicodeDecodeError:
        raise wrong(text, "is not UTF-8") from None
    except (ValueError, OverflowError):
        raise wrong(text, "is not a time: seconds as a number, or ISO 8601 as 2025-01-31T12:00:00Z") from None
