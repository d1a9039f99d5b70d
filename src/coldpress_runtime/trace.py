"""The cold-start waterfall: with COLDPRESS_TRACE_INIT=1, one line of JSON once the first answer is out.

Times are CLOCK_MONOTONIC nanoseconds, so that whoever started the process can put its own before them.
"""

from sys import stderr
from time import monotonic_ns

from coldpress_runtime.settings import variable

_marks: list[tuple[str, int]] | None = [] if variable("COLDPRESS_TRACE_INIT") == "1" else None


def enabled() -> bool:
    return _marks is not None


def mark(phase: str) -> None:
    """Note that `phase` ended now."""
    if _marks is not None:
        _marks.append((phase, monotonic_ns()))


def report() -> None:
    """Print the marks, once."""
    global _marks  # noqa: PLW0603 - a process starts once
    if _marks is not None:
        from coldpress_runtime.jsontext import dumps

        stderr.write(dumps({"coldpress_init": [[name, at] for name, at in _marks]}) + "\n")
        stderr.flush()
        _marks = None
