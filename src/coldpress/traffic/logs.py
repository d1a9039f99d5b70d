"""Traffic that others have recorded: CloudWatch's metrics, and access logs of servers and load balancers."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from typing import Any

from coldpress.traffic.lines import MINUTE, Numbered, Span, Wrong, iso_time, possible
from coldpress.traffic.schedule import MOST_A_SECOND

_LARGEST_JSON = 256 << 20
#: a log is written as requests end, so its lines may be a little out of order
_DISORDER = 60.0
#: a log that counts seconds does not say when within them
_SECOND = 1.0

_COMMON = re.compile(rb"\[(\d{2}/[A-Za-z]{3}/\d{4}:\d{2}:\d{2}:\d{2} [+-]\d{4})\]")
_BALANCER = re.compile(rb"(?:https?|h2|wss?|grpcs?) (\d{4}-\d{2}-\d{2}T[0-9:.]+Z) ")
_CLOUDFRONT = re.compile(rb"(\d{4}-\d{2}-\d{2})\t(\d{2}:\d{2}:\d{2})\t")
_KINDS = "common or combined lines, as nginx and Apache write them, a load balancer's, or CloudFront's"


def access_log(lines: Numbered) -> Iterator[Span]:
    """One request on each line, the time somewhere in it. Those of one second are counted together."""
    first: float | None = None
    second, count = 0, 0
    for wrong, line in lines:
        if line.startswith(b"#"):  # CloudFront's heading
            continue
        at = _logged(line, wrong)
        first = at if first is None else first
        since = int(at - first)
        if at - first < second - _DISORDER:
            late = second - (at - first)
            raise wrong(
                line, f"is {late:g} s before a line above it: sort the log (up to {_DISORDER:g} s are no matter)"
            )
        if since > second:
            yield Span(float(second), _SECOND, count)
            second, count = since, 0
        count += 1
        if count > MOST_A_SECOND:
            raise wrong(line, f"is one of more than {MOST_A_SECOND:,} in one second")
    if count:
        yield Span(float(second), _SECOND, count)


def _logged(line: bytes, wrong: Wrong) -> float:
    found = _BALANCER.match(line)
    if found:
        return iso_time(found[1], wrong)
    found = _CLOUDFRONT.match(line)
    if found:
        return iso_time(found[1] + b"T" + found[2] + b"Z", wrong)
    found = _COMMON.search(line)
    if found is None:
        raise wrong(line, f"has no time that is known: {_KINDS}")
    try:
        return datetime.strptime(found[1].decode(), "%d/%b/%Y:%H:%M:%S %z").timestamp()
    except (ValueError, OverflowError):
        raise wrong(found[1], "is not a time") from None


def cloudwatch(lines: Numbered) -> Iterator[Span]:
    """Sums over periods, in the order CloudWatch likes, which is none. The period is the least distance of two."""
    points: dict[float, float] = {}
    text, wrong = _whole(lines)
    if wrong is None:
        return
    for number, (time, value) in enumerate(_points(_parsed(text, wrong), wrong), 1):
        said = f"{time!r}: {value!r}"
        if not isinstance(time, str):
            raise wrong(said, f"(data point {number}) has no timestamp that is text")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
            raise wrong(said, f"(data point {number}) is not a count: 0 or more, and finite")
        if value != int(value):
            raise wrong(said, f"(data point {number}) is not a whole number: ask for the Sum, not the average")
        at = possible(iso_time(time.encode(), wrong), said, wrong)
        points[at] = points.get(at, 0) + value
    ordered = sorted(points)
    if len(ordered) == 1:
        raise wrong(text[:60], "has one data point, which does not tell its period: ask for two or more")
    gaps = [after - before for before, after in pairwise(ordered)]
    period = min(gaps, default=MINUTE)
    odd = next((gap for gap in gaps if abs(gap / period - round(gap / period)) > 0.01), None)
    if odd is not None:
        raise wrong(f"{odd:g} s", f"between data points are not whole periods of {period:g} s: ask for one period")
    for at in ordered:
        if points[at] > period * MOST_A_SECOND:
            raise wrong(f"{points[at]:,.0f}", f"in {period:g} s is more than {MOST_A_SECOND:,} a second")
        yield Span(at - ordered[0], period, int(points[at]))


def _whole(lines: Numbered) -> tuple[bytes, Wrong | None]:
    parts, first, size = [], None, 0
    for wrong, line in lines:
        first = first or wrong
        parts.append(line)
        size += len(line)
        if size > _LARGEST_JSON:
            raise wrong(line, f"is beyond {_LARGEST_JSON >> 20} MB, more than metrics can be")
    return b"\n".join(parts), first


def _parsed(text: bytes, wrong: Wrong) -> dict[str, Any]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise wrong(text, f"is not JSON: {str(error)[:80]}") from None
    if not isinstance(said, dict):
        raise wrong(text, "is not what CloudWatch writes: an object with Datapoints or MetricDataResults")
    return said


def _points(said: dict[str, Any], wrong: Wrong) -> Iterator[tuple[Any, Any]]:
    match said:
        case {"Datapoints": list(points)}:
            for point in points:
                if not isinstance(point, dict) or not {"Timestamp", "Sum"} <= point.keys():
                    raise wrong(
                        json.dumps(point), "has no Timestamp and Sum: ask CloudWatch with --statistics Sum"
                    )
                yield point["Timestamp"], point["Sum"]
        case {"MetricDataResults": [{"Timestamps": list(times), "Values": list(values)}]}:
            if len(times) != len(values):
                raise wrong(f"{len(times)} Timestamps", f"do not belong to {len(values)} Values")
            yield from zip(times, values, strict=True)
        case {"MetricDataResults": list(several)}:
            raise wrong(f"{len(several)} MetricDataResults", "are not one metric's: ask for Invocations alone")
        case _:
            names = ", ".join(list(said)[:5])
            raise wrong(names, "is not what CloudWatch writes: Datapoints or MetricDataResults")
