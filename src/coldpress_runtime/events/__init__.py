"""Events: every way that Lambda hands work in, and the form in which each wants its answer.

An HTTP source is a module with `LIMIT` (the most bytes that it carries back), `decode(event)` and
`encode(reply, event)`. A batch source, where many come at a time and answers go elsewhere, has `PARTIAL` (whether
Lambda can be told which failed), `items(event)` and `settle(items)`; or, where it says itself where answers go,
`answer(task, event)` alone. Only the one that an event needs is imported.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from coldpress_runtime.events.items import Item
    from coldpress_runtime.http import Reply, Request

    class HttpSource(Protocol):
        LIMIT: int

        def decode(self, event: dict[str, object]) -> Request: ...
        def encode(self, reply: Reply, event: dict[str, object]) -> str: ...

    class BatchSource(Protocol):
        PARTIAL: bool

        def items(self, event: dict[str, object]) -> list[Item]: ...
        def settle(self, found: list[Item]) -> None: ...


#: What a buffered answer may weigh, Lambda's own limit.
LIMIT = 6 * 1024 * 1024

#: what records call their source → its module
_BATCHES = {
    "aws:sqs": "sqs",
    "aws:sns": "sns",
    "aws:s3": "s3",
    "aws:kinesis": "kinesis",
    "aws:dynamodb": "dynamodb",
}


def http_source(event: object) -> "HttpSource | None":
    """The HTTP source that sent `event`, or None when it is a direct invocation."""
    if not isinstance(event, dict):
        return None
    context = event.get("requestContext")
    if not isinstance(context, dict):
        return None
    if "elb" in context:
        from coldpress_runtime.events import load_balancer

        return load_balancer
    if "http" in context and event.get("version") == "2.0":
        from coldpress_runtime.events import http_v2

        return http_v2
    if "httpMethod" in event:
        from coldpress_runtime.events import api_gateway_v1

        return api_gateway_v1
    return None


def batch_source(event: dict[str, object]) -> "BatchSource | None":
    """The queue, stream, topic or bucket that sent `event`, or None when nobody of them did."""
    if "detail-type" in event and "detail" in event and "source" in event:
        from coldpress_runtime.events import eventbridge

        return eventbridge
    if event.get("coldpress") == "map" and "from" in event and "to" in event:
        return _source("bulk")
    found = event.get("Records")
    first = found[0] if isinstance(found, list) and found else None
    if not isinstance(first, dict):
        return None
    name = first.get("eventSource") or first.get("EventSource")
    if name not in _BATCHES:
        return None
    return _source(_BATCHES[name])


def _source(name: str) -> "BatchSource":
    module: BatchSource = __import__(f"coldpress_runtime.events.{name}", fromlist=["items"])
    return module
