"""The Function URL: plain HTTP in, an event of version 2.0 through the function, plain HTTP out."""

import base64
import json
import re
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote

from coldpress.emulate.front.guard import guarded
from coldpress.emulate.front.invoke_api import measured, trace_id
from coldpress.emulate.front.signatures import Credentials, Unsigned, check_signature
from coldpress.emulate.sandboxes.fleet import Fleet, Throttled
from coldpress.emulate.sandboxes.invocation import ACCOUNT, LARGEST_EVENT, Answered, Invocation
from coldpress.emulate.sandboxes.streams import Piece, Streamed
from coldpress.emulate.wire import Request

_TEXT = re.compile(r"^(text/|application/(json|xml|javascript|x-www-form-urlencoded|.*\+json|.*\+xml))", re.ASCII)
#: hop by hop, or ours to set
_NOT_PASSED = frozenset(("connection", "keep-alive", "transfer-encoding", "content-length", "upgrade", "trailer"))
_TOKEN = re.compile(r"^[!#$%&'*+\-.^_`|~0-9A-Za-z]+\Z")


@dataclass(frozen=True)
class UrlSettings:
    """How the URL is reached: `credentials` makes it AWS_IAM; `origins` switches CORS on."""

    credentials: Credentials | None = None
    origins: tuple[str, ...] = ()
    streams: bool = False


class FunctionUrl:
    def __init__(self, fleet: Fleet, settings: UrlSettings) -> None:
        self._fleet = fleet
        self._settings = settings

    def answer(self, request: Request) -> None:
        invocation = Invocation(b"", kind="url", arn=self._fleet.settings.arn)
        headers = {"x-amzn-requestid": invocation.request_id, **self._cors(request)}
        if self._settings.origins and request.method == "OPTIONS" and "origin" in request.headers:
            request.connection.reply(200, headers, b"")
            return
        if self._settings.credentials is not None:
            try:
                check_signature(request, self._settings.credentials)
            except Unsigned as error:
                _message(request, 403, headers | {"x-amzn-ErrorType": "AccessDeniedException"}, str(error))
                return
        invocation.trace_id = trace_id(request)
        invocation.event = json.dumps(self._event(request, invocation)).encode()
        if len(invocation.event) > LARGEST_EVENT * 4 // 3 + 65536:
            _message(request, 413, headers, "Request Too Long")
        else:
            self._pass(request, invocation, headers)

    def _pass(self, request: Request, invocation: Invocation, headers: dict[str, str]) -> None:
        connection = request.connection
        begun = over = False

        def began(streamed: Streamed) -> None:
            nonlocal begun
            if over:  # what a timed-out stream still had on its way
                return
            begun = True
            prelude = streamed.prelude if streamed.prelude is not None else {}
            status, fields = _head(prelude, "application/octet-stream")
            connection.begin(status, [*headers.items(), *fields])

        def heard(piece: Piece) -> None:
            if not over:
                connection.pass_on(piece.data, invocation.source)

        if self._settings.streams:
            invocation.began, invocation.heard = began, heard

        def ended(answered: Answered | Throttled) -> None:
            nonlocal over
            over = True
            if isinstance(answered, Throttled):
                _message(request, 429, headers, "Rate exceeded")
            elif begun:
                connection.end() if answered.outcome.ok else connection.abort()
            elif not answered.outcome.ok:
                status = 504 if answered.report.status == "timeout" else 502
                _message(request, status, headers | measured(answered), "Internal Server Error")
            else:
                status, fields, body = _reply_of(answered)
                connection.reply_with(status, [*headers.items(), *measured(answered).items(), *fields], body)

        self._fleet.submit(invocation, guarded(request, ended))

    def _event(self, request: Request, invocation: Invocation) -> dict[str, Any]:
        passed = dict(request.headers)
        cookies = [part.strip() for part in passed.pop("cookie", "").split(";") if part.strip()]
        host = passed.get("host", "127.0.0.1")
        kind = passed.get("content-type", "")
        body = bytes(request.body)
        event: dict[str, Any] = {
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": unquote(request.path, errors="replace"),
            "rawQueryString": request.query,
            "headers": {
                **passed,
                "x-forwarded-for": passed.get("x-forwarded-for", request.connection.peer),
                "x-forwarded-proto": "http",
                "x-forwarded-port": host.rpartition(":")[2] if ":" in host else "80",
                "x-amzn-trace-id": invocation.trace_id,
            },
            "requestContext": {
                "accountId": "anonymous" if self._settings.credentials is None else ACCOUNT,
                "apiId": "local",
                "domainName": host,
                "domainPrefix": "local",
                "http": {
                    "method": request.method,
                    "path": unquote(request.path, errors="replace"),
                    "protocol": "HTTP/1.1",
                    "sourceIp": request.connection.peer,
                    "userAgent": passed.get("user-agent", ""),
                },
                "requestId": invocation.request_id,
                "routeKey": "$default",
                "stage": "$default",
                "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime()),
                "timeEpoch": int(time.time() * 1000),
            },
            "isBase64Encoded": False,
        }
        if request.query:
            event["queryStringParameters"] = _parameters(request.query)
        if cookies:
            event["cookies"] = cookies
        if body:
            text = _as_text(body, kind)
            event["isBase64Encoded"] = text is None
            event["body"] = base64.b64encode(body).decode() if text is None else text
        return event

    def _cors(self, request: Request) -> dict[str, str]:
        origin = request.headers.get("origin", "")
        allowed = self._settings.origins
        if not origin or not (origin in allowed or "*" in allowed):
            return {}
        found = {"Access-Control-Allow-Origin": "*" if "*" in allowed else origin, "Vary": "Origin"}
        if request.method == "OPTIONS":
            wanted = request.headers.get("access-control-request-headers", "*")
            found |= {
                "Access-Control-Allow-Methods": "GET,HEAD,POST,PUT,PATCH,DELETE",
                "Access-Control-Allow-Headers": _safe(wanted),
                "Access-Control-Max-Age": "300",
            }
        return found


def _parameters(query: str) -> dict[str, str]:
    """Equal names are joined by commas."""
    found: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        found[name] = f"{found[name]},{value}" if name in found else value
    return found


def _as_text(body: bytes, content_type: str) -> str | None:
    """The body as text where its type says so and it is; else it travels as base64."""
    if content_type and not _TEXT.match(content_type.lower()):
        return None
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _reply_of(answered: Answered) -> tuple[int, list[tuple[str, str]], bytes]:
    """What the function's answer means: a response with a status, or any JSON, which then is the body."""
    outcome = answered.outcome
    if outcome.streamed is not None:
        status, fields = _head(outcome.streamed.prelude or {}, "application/octet-stream")
        return status, fields, outcome.body
    try:
        value = json.loads(outcome.body)
    except (ValueError, RecursionError):
        return 200, [("content-type", "application/json")], outcome.body
    if not isinstance(value, dict) or "statusCode" not in value:
        return 200, [("content-type", "application/json")], outcome.body
    status, fields = _head(value, "application/json")
    body = value.get("body")
    text = "" if body is None else body if isinstance(body, str) else json.dumps(body)
    if value.get("isBase64Encoded") is not True:
        return status, fields, text.encode()
    try:
        return status, fields, base64.b64decode(text)
    except ValueError:
        return 502, [("content-type", "application/json")], b'{"Message":"Internal Server Error"}'


def _head(value: dict[str, Any], content_type: str) -> tuple[int, list[tuple[str, str]]]:
    """Status and headers that a function said; what HTTP cannot carry is left out."""
    said = value.get("statusCode", 200)
    status = (
        int(said) if isinstance(said, int | str) and str(said).isdecimal() and 200 <= int(said) <= 599 else 502
    )
    given = value.get("headers")
    fields = [
        (str(name), _safe(str(one)))
        for name, one in (given.items() if isinstance(given, dict) else ())
        if _TOKEN.match(str(name)) and str(name).lower() not in _NOT_PASSED
    ]
    cookies = value.get("cookies")
    fields += [("set-cookie", _safe(str(one))) for one in cookies] if isinstance(cookies, list) else []
    if not any(name.lower() == "content-type" for name, _ in fields):
        fields.append(("content-type", content_type))
    return status, fields


def _safe(value: str) -> str:
    return re.sub(r"[\r\n\0]", " ", value)


def _message(request: Request, status: int, headers: dict[str, str], message: str) -> None:
    body = json.dumps({"Message": message}).encode()
    request.connection.reply(status, headers | {"content-type": "application/json"}, body)
