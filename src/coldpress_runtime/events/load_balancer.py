"""Application Load Balancers, with single-value or multi-value headers as the target group says."""

from coldpress_runtime.http import Reply, Request, joined_headers, read_request
from coldpress_runtime.jsontext import dumps

#: A load balancer carries a sixth of what Lambda itself would.
LIMIT = 1024 * 1024

_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    413: "Content Too Large",
}


def decode(event: dict[str, object]) -> Request:
    headers = joined_headers(event.get("multiValueHeaders") or event.get("headers"))
    return read_request(event, event.get("httpMethod", "GET"), event.get("path"), headers)


def encode(reply: Reply, event: dict[str, object]) -> str:
    answer: dict[str, object] = {
        "statusCode": reply.status,
        "statusDescription": f"{reply.status} {_REASONS.get(reply.status, 'Error')}",
        "body": reply.body,
        "isBase64Encoded": False,
    }
    # It ignores single-value headers when the target group has multi-value ones switched on.
    if "multiValueHeaders" in event:
        answer["multiValueHeaders"] = {name: [value] for name, value in reply.headers.items()}
    else:
        answer["headers"] = reply.headers
    return dumps(answer)
