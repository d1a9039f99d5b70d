"""What a deployed function wrote: CloudWatch's log, or the local Lambda's."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from coldpress.deploy.aws import Aws

#: seconds between two looks at a log that is followed; and how far back each looks, since lines come late
_EVERY, _EVERY_LOCAL, _LATE = 2.0, 0.3, 30.0
#: what a line of a failure has, in either of Lambda's formats
_FAILURES = ("ERROR", "Task timed out", "Runtime.", '"status":"error"', '"status":"timeout"')
#: lines that are asked for at once, the most that CloudWatch gives
PAGE = 10_000


@dataclass(frozen=True)
class Line:
    #: seconds since 1970
    at: float
    stream: str
    text: str
    #: what tells it from an equal one
    key: str = ""


def read_log(aws: Aws, name: str, since: float, pattern: str = "") -> Iterator[Line]:
    """From a time on, the oldest first."""
    if aws.local:
        alike: Counter[tuple[float, str]] = Counter()
        for one in aws.look("log", function=name, since=since)["lines"]:
            alike[one["at"], one["line"]] += 1
            yield Line(
                one["at"], one["stream"], one["line"], f"{one['at']} {alike[one['at'], one['line']]} {one['line']}"
            )
        return
    asked = {"logGroupName": f"/aws/lambda/{name}", "startTime": int(since * 1000), "limit": PAGE}
    more: dict[str, str] = {"filterPattern": pattern} if pattern else {}
    while True:
        page = aws.find("logs", "filter_log_events", **asked, **more)
        if page is None:  # nothing was ever written
            return
        for event in page["events"]:
            yield Line(
                event["timestamp"] / 1000, event["logStreamName"], event["message"].rstrip("\n"), event["eventId"]
            )
        if not page.get("nextToken"):
            return
        more["nextToken"] = page["nextToken"]


def follow_log(aws: Aws, name: str, since: float) -> Iterator[Line]:
    """The same, without an end: each line once, also one that comes late."""
    seen: dict[str, float] = {}
    while True:
        for line in read_log(aws, name, since):
            if line.key not in seen:
                seen[line.key] = line.at
                yield line
        since = max(since, aws.clock() - _LATE)
        seen = {key: at for key, at in seen.items() if at >= since}
        aws.pause(_EVERY_LOCAL if aws.local else _EVERY)


def last_errors(aws: Aws, name: str, since: float, most: int = 3) -> list[Line]:
    """The newest lines that tell of a failure."""
    pattern = " ".join(f'?"{words}"' for words in ("ERROR", "Task timed out", "Runtime.", "error", "timeout"))
    found = [line for line in read_log(aws, name, since, pattern) if any(word in line.text for word in _FAILURES)]
    return found[-most:]
