"""Payload format 2.0: Function URLs, and API Gateway's HTTP APIs."""

from coldpress_runtime.events import LIMIT as LIMIT
from coldpress_runtime.http import Reply, Request, joined_headers, read_request
from coldpress_runtime.jsontext import dumps


def decode(event: dict[str, object]) -> Request:
    context = event["requestContext"]
    assert isinstance(context, dict)
    http = context["http"]
    method = http.get("method", "GET") if isinstance(http, dict) else "GET"
    path = event.get("rawPath")
    stage = context.get("stage")
    # API Gateway leaves the name of a stage in the path; routes know nothing of stages.
    if isinstance(path, str) and isinstance(stage, str) and stage != "$default":
        if path == f"/{stage}":
            path = "/"
        elif path.startswith(f"/{stage}/"):
            path = path[len(stage) + 1 :]
    return read_request(event, method, path, joined_headers(event.get("headers")))


def encode(reply: Reply, event: dict[str, object]) -> str:
    return dumps(
        {
            "statusCode": reply.status,
            "headers": reply.headers,
            "body": reply.body,
            "isBase64Encoded": False,
        }
    )
