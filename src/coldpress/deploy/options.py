"""What people write on the command line of `deploy`."""

import re

from coldpress.artifact import Artifact
from coldpress.bench.result import BENCH, Bench
from coldpress.errors import UsageError

_DEFAULT_MB = 1769
_TIME = re.compile(r"(\d{1,6})(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def pairs(flag: str, said: tuple[str, ...]) -> dict[str, str]:
    """K=V, each name once."""
    found: dict[str, str] = {}
    for text in said:
        name, equals, value = text.partition("=")
        if not equals or not name or name in found:
            reason = "is there twice" if name in found else "is not of the form K=V"
            raise UsageError(f"{flag} {text!r} {reason}")
        found[name] = value
    return found


def seconds(flag: str, text: str) -> float:
    """As 30s, 10m, 2h or 7d."""
    found = _TIME.fullmatch(text)
    if not found or not int(found[1]):
        raise UsageError(f"{flag} {text!r} is not a time, as 30s, 10m, 2h or 7d")
    return float(int(found[1]) * _SECONDS[found[2]])


def recommended_memory(artifact: Artifact) -> int:
    """As the bench recommends, where there was one."""
    if not (artifact.path / BENCH).exists():
        return _DEFAULT_MB
    return Bench.load(artifact.path).recommended.get("balanced", _DEFAULT_MB)
