"""A deployed function is asked, and tells how long it took."""

import time
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from coldpress.deploy.aws import Aws
from coldpress.traffic.answer import Told, told


@dataclass(frozen=True)
class Asked:
    body: bytes
    ok: bool
    version: str
    #: the end of its log
    log: str
    #: as its REPORT line says
    told: Told
    #: from here and back
    round_trip_ms: float


def ask(aws: Aws, name: str, qualifier: str, event: bytes, *, log: bool = True) -> Asked:
    more: dict[str, Any] = {"LogType": "Tail"} if log else {}
    aws.client("lambda", "invoke")  # making it is no part of the way
    began = time.perf_counter()
    done = aws.call("lambda", "invoke", FunctionName=name, Qualifier=qualifier, Payload=event, **more)
    body = done["Payload"].read()
    took = (time.perf_counter() - began) * 1000
    tail = str(done.get("LogResult", ""))
    return Asked(
        body,
        not done.get("FunctionError"),
        str(done.get("ExecutedVersion", qualifier)),
        b64decode(tail).decode(errors="replace"),
        told({b"x-amz-log-result": tail.encode()} if tail else {}),
        took,
    )


def ask_for_pieces(aws: Aws, name: str, qualifier: str, event: bytes, take: Callable[[bytes], None]) -> str:
    """The answer, piece by piece as it comes; what went wrong, or nothing."""
    done = aws.call("lambda", "invoke_with_response_stream", FunctionName=name, Qualifier=qualifier, Payload=event)
    problem = ""
    for one in done["EventStream"]:
        if "PayloadChunk" in one:
            take(one["PayloadChunk"]["Payload"])
        elif one.get("InvokeComplete", {}).get("ErrorCode"):
            problem = f"{one['InvokeComplete']['ErrorCode']}: {one['InvokeComplete'].get('ErrorDetails', '')}"
    return problem
