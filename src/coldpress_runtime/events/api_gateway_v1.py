"""API Gateway's REST APIs, and HTTP APIs that ask for payload format 1.0."""

from coldpress_runtime.events import LIMIT as LIMIT
from coldpress_runtime.events.http_v2 import encode as encode
from coldpress_runtime.http import Request, joined_headers, read_request


def decode(event: dict[str, object]) -> Request:
    headers = joined_headers(event.get("headers")) | joined_headers(event.get("multiValueHeaders"))
    return read_request(event, event.get("httpMethod", "GET"), event.get("path"), headers)
