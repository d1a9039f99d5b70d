"""Errors of a sandbox, in Lambda's own words."""

import os
import signal
from json import dumps

_SIGNALS = {signal.SIGKILL: "killed", signal.SIGSEGV: "segmentation fault", signal.SIGABRT: "aborted"}


def error_body(kind: str, message: str, request_id: str = "") -> bytes:
    """As a caller gets it; errors of a sandbox name the request that met them."""
    said = f"RequestId: {request_id} Error: {message}" if request_id else message
    return dumps({"errorType": kind, "errorMessage": said}, separators=(",", ":")).encode()


def ending(status: int) -> str:
    """How a process ended, by what wait() says of it."""
    if os.WIFSIGNALED(status):
        number = signal.Signals(os.WTERMSIG(status))
        name = _SIGNALS.get(number) or signal.strsignal(number) or str(number)
        return f"Runtime exited with error: signal: {name.lower()}"
    code = os.WEXITSTATUS(status)
    if code:
        return f"Runtime exited with error: exit status {code}"
    return "Runtime exited without providing a reason"


def timed_out(seconds: float) -> str:
    return f"Task timed out after {seconds:.2f} seconds"
