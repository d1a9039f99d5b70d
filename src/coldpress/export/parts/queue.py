"""Queues that Lambda brings the alias messages of."""

import hashlib
import re
from typing import Any

from coldpress.deploy.parts.queue import settings, tags
from coldpress.deploy.queues import MOST, MOST_IN_ORDER, Queue
from coldpress.deploy.wanted import Wanted
from coldpress.errors import UsageError
from coldpress.export.parts.function import LIVE
from coldpress.export.stack import Of, Param, Parameter, Part, Resource
from coldpress.export.stack import tags as listed

_SIZE = "BatchSize"
_HASH_DIGITS = 6
_NOTE = """Each hides a message for at least `Timeout` seconds, or Lambda refuses it; AWS recommends six times
that. Give it a dead-letter queue: what always fails comes again otherwise, until it expires."""


def check(wanted: Wanted) -> None:
    """A template does not know where it will be deployed, and a queue has to."""
    into = [wanted.sink.queue] if wanted.sink and wanted.sink.queue else []
    for queue in (*wanted.queues, *into):
        if queue.region is None:
            raise UsageError(
                f"{queue.url} does not tell its region, which a template has to: write it as "
                f"arn:aws:sqs:eu-west-1:{queue.account}:{queue.name}"
            )


def part(wanted: Wanted) -> Part:
    if not wanted.queues:
        return Part()
    # Above ten Lambda has to wait for more, and that is written: the parameter stays on this side of it.
    most = MOST if wanted.batch_size > MOST_IN_ORDER else MOST_IN_ORDER
    size = Parameter(_SIZE, "Messages at once, at most.", wanted.batch_size, number=True, least=1, most=most)
    return Part(tuple(_mapping(wanted, one) for one in wanted.queues), (size,), notes=(("The queues", _NOTE),))


def _mapping(wanted: Wanted, queue: Queue) -> Resource:
    arn = queue.arn("")
    properties: dict[str, Any] = {
        "FunctionName": Of(LIVE),
        "EventSourceArn": arn,
        **settings(wanted, queue),
        "BatchSize": Param(_SIZE),
        "Tags": listed(tags(wanted)),
    }
    # Named for the queue, not by its place among them: one that goes must not move the others.
    mark = hashlib.sha256(arn.encode()).hexdigest()[:_HASH_DIGITS]
    words = re.findall("[A-Za-z0-9]+", queue.name)
    key = f"Queue{''.join(one[0].upper() + one[1:] for one in words)}{mark}"
    return Resource(
        key,
        "AWS::Lambda::EventSourceMapping",
        properties,
        f"Brings messages of {queue.name}; what fails comes again.",
    )
