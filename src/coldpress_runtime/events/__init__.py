"""Events: every way that Lambda hands work in, and the form in which each wants its answer.

A source is a module with `LIMIT` (the most bytes that it carries back), `decode(event)` and
`encode(reply, event)`. Only the one that an event needs is imported.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from coldpress_runtime.http import Reply, Request

    class HttpSource(Protocol):
        LIMIT: int

        def decode(self, event: dict[str, object]) -> Request: ...
        def encode(self, reply: Reply, event: dict[str, object]) -> str: ...


#: What a buffered answer may weigh, Lambda's own limit.
LIMIT = 6 * 1024 * 1024


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
