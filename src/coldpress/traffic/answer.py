"""What an answer tells of itself: how long the function took, and whether it had to be started first."""

import binascii
import math
import re
from base64 import b64decode
from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

FUNCTION_ERROR = b"x-amz-function-error"
_LOG = b"x-amz-log-result"
_INIT, _DURATION, _BILLED = b"x-coldpress-init-ms", b"x-coldpress-duration-ms", b"x-coldpress-billed-ms"
#: the headers that are read; all others are passed over
READ = frozenset((FUNCTION_ERROR, _LOG, _INIT, _DURATION, _BILLED))

#: the last line of an invocation's log, as text or as JSON; a restored snapshot is a cold start too
_REPORT = re.compile(rb'REPORT RequestId:|"type"\s*:\s*"platform\.report"')
_IN_REPORT = {
    _INIT: re.compile(rb'(?:(?:Init|Restore) Duration: |"(?:init|restore)DurationMs"\s*:\s*)([\d.]+)'),
    _DURATION: re.compile(rb'(?:(?<!Init )(?<!Billed )(?<!Restore )\bDuration: |"durationMs"\s*:\s*)([\d.]+)'),
    _BILLED: re.compile(rb'(?:Billed Duration: |"billedDurationMs"\s*:\s*)([\d.]+)'),
}


class Start(IntEnum):
    """Whether the sandbox was there already. Who is not told does not know: that is not the same as warm."""

    NOT_TOLD = 0
    WARM = 1
    COLD = 2


class Told(NamedTuple):
    """Milliseconds; not a number where nothing was said."""

    start: Start
    init_ms: float
    duration_ms: float
    billed_ms: float


NOTHING = Told(Start.NOT_TOLD, math.nan, math.nan, math.nan)


def told(headers: Mapping[bytes, bytes]) -> Told:
    """From our own headers, or from the end of the log that the Invoke API sends along."""
    log = headers.get(_LOG)
    said = headers if log is None else _report(log)
    duration = _number(said.get(_DURATION))
    init = _number(said.get(_INIT))
    if math.isnan(duration) and math.isnan(init):
        return NOTHING
    start = Start.WARM if math.isnan(init) else Start.COLD
    return Told(start, init, duration, _number(said.get(_BILLED)))


def _report(log: bytes) -> dict[bytes, bytes]:
    """What the REPORT line says, under the names that our headers have. The function may have logged the same
    words before it, so the last one counts."""
    try:
        text = b64decode(log, validate=True)
    except (binascii.Error, ValueError):
        return {}
    begins = [found.start() for found in _REPORT.finditer(text)]
    if not begins:
        return {}
    matches = {name: pattern.search(text, begins[-1]) for name, pattern in _IN_REPORT.items()}
    return {name: match[1] for name, match in matches.items() if match}


def _number(text: bytes | None) -> float:
    try:
        value = math.nan if text is None else float(text)
    except ValueError:
        return math.nan
    return value if 0 <= value < math.inf else math.nan
