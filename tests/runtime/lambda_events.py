"""HTTP requests as each of Lambda's sources would hand them over."""

import base64
import json
from collections.abc import Callable
from typing import Any

Event = dict[str, Any]
Maker = Callable[..., Event]


def _body(body: object, encode: bool) -> dict[str, Any]:
    text = body if isinstance(body, str) else json.dumps(body)
    if encode:
        return {"body": base64.b64encode(text.encode()).decode(), "isBase64Encoded": True}
    return {"body": text, "isBase64Encoded": False}


def function_url(
    method: str, path: str, body: object = "", *, headers: dict[str, str] | None = None, encode: bool = False
) -> Event:
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"content-type": "application/json", **(headers or {})},
        "requestContext": {
            "domainName": "abc.lambda-url.us-east-1.on.aws",
            "http": {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1"},
            "requestId": "1",
            "stage": "$default",
        },
        **_body(body, encode),
    }


def api_gateway_v2(
    method: str, path: str, body: object = "", *, headers: dict[str, str] | None = None, encode: bool = False
) -> Event:
    event = function_url(method, f"/prod{path}", body, headers=headers, encode=encode)
    event["requestContext"] |= {"stage": "prod", "domainName": "abc.execute-api.us-east-1.amazonaws.com"}
    return event


def api_gateway_v1(
    method: str, path: str, body: object = "", *, headers: dict[str, str] | None = None, encode: bool = False
) -> Event:
    given = {"Content-Type": "application/json", **(headers or {})}
    return {
        "resource": "/{proxy+}",
        "path": path,
        "httpMethod": method,
        "headers": given,
        "multiValueHeaders": {name: [value] for name, value in given.items()},
        "queryStringParameters": None,
        "requestContext": {"resourceId": "1", "stage": "prod", "path": f"/prod{path}", "httpMethod": method},
        **_body(body, encode),
    }


def load_balancer(
    method: str, path: str, body: object = "", *, headers: dict[str, str] | None = None, encode: bool = False
) -> Event:
    return {
        "requestContext": {"elb": {"targetGroupArn": "arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/a/b"}},
        "httpMethod": method,
        "path": path,
        "queryStringParameters": {},
        "headers": {"content-type": "application/json", **(headers or {})},
        **_body(body, encode),
    }


def load_balancer_many(
    method: str, path: str, body: object = "", *, headers: dict[str, str] | None = None, encode: bool = False
) -> Event:
    event = load_balancer(method, path, body, headers=headers, encode=encode)
    event["multiValueHeaders"] = {name: [value] for name, value in event.pop("headers").items()}
    return event


SOURCES: dict[str, Maker] = {
    "function_url": function_url,
    "api_gateway_v2": api_gateway_v2,
    "api_gateway_v1": api_gateway_v1,
    "load_balancer": load_balancer,
    "load_balancer_many": load_balancer_many,
}
