"""Lambda's Invoke API, as boto3 and the AWS command line speak it."""

import base64
import json
import re
import time
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qs, unquote

from coldpress.emulate.front import eventstream
from coldpress.emulate.front.background import LARGEST_BACKGROUND_EVENT, Background
from coldpress.emulate.front.guard import guarded
from coldpress.emulate.sandboxes.fleet import Fleet, Throttled
from coldpress.emulate.sandboxes.invocation import ACCOUNT, LARGEST_EVENT, REGION, Answered, Invocation
from coldpress.emulate.sandboxes.streams import Piece, Streamed
from coldpress.emulate.wire import Request

_INVOKE = "/2015-03-31/functions/"
_STREAM = "/2021-11-15/functions/"
_JSON = "application/json"
_READER = json.JSONDecoder()
#: a name, a part of an ARN, or all of it; then perhaps a version or an alias
NAME = re.compile(
    r"^(?:arn:aws[\w-]*:lambda:[\w-]+:)?(?:\d{12}:)?(?:function:)?([\w-]{1,140})(?::(\$LATEST|[\w-]{1,128}))?$",
    re.ASCII,
)


@dataclass(eq=False)  # not frozen: Python sets an exception's traceback as it passes
class Refusal(Exception):
    """An error of the service itself, as botocore expects it."""

    status: int
    kind: str
    message: str
    reason: str = ""


class InvokeApi:
    """Answers for one function, under its name, its ARN, and the name that the official emulator uses."""

    def __init__(self, fleet: Fleet, background: Background, version: str = "$LATEST") -> None:
        self._fleet = fleet
        self._background = background
        self._version = version
        #: most ask for the same
        self._arn_of = lru_cache(maxsize=64)(self._resolve)

    @staticmethod
    def serves(path: str) -> bool:
        return path.startswith((_INVOKE, _STREAM))

    def answer(self, request: Request, arn: str = "") -> None:
        """`arn`: what was asked for, when who calls this has found it out already."""
        invocation = Invocation(b"")
        headers = {"X-Amzn-RequestId": invocation.request_id}
        try:
            streams = request.path.startswith(_STREAM)
            invocation.arn = arn or self._arn_of(*asked_for(request))
            invocation.event = _event_of(request)
            invocation.client_context = _client_context(request)
            invocation.trace_id = trace_id(request)
            invocation.wants_tail = request.headers.get("x-amz-log-type") == "Tail"
            if streams:
                self._stream(request, invocation, headers)
            else:
                self._invoke(request, invocation, headers)
        except Refusal as refusal:
            refuse(request, refusal, headers)

    def _invoke(self, request: Request, invocation: Invocation, headers: dict[str, str]) -> None:
        kind = request.headers.get("x-amz-invocation-type", "RequestResponse")
        if kind == "DryRun":
            request.connection.reply(204, headers, b"")
        elif kind == "Event":
            if len(invocation.event) > LARGEST_BACKGROUND_EVENT:
                raise _too_large(LARGEST_BACKGROUND_EVENT)
            invocation.kind = "event"
            self._background.add(invocation)
            request.connection.reply(202, headers, b"")
        elif kind == "RequestResponse":
            ended = guarded(request, lambda answered: self._reply(request, invocation, headers, answered))
            self._fleet.submit(invocation, ended)
        else:
            raise Refusal(
                400,
                "InvalidParameterValueException",
                f"Value '{kind}' at 'invocationType' failed to satisfy constraint: "
                "Member must satisfy enum value set: [RequestResponse, Event, DryRun]",
            )

    def _stream(self, request: Request, invocation: Invocation, headers: dict[str, str]) -> None:
        connection = request.connection
        headers |= {
            "X-Amz-Executed-Version": self._version,
            "Content-Type": "application/vnd.amazon.eventstream",
        }
        begun = over = False

        def began(streamed: Streamed | None) -> None:
            nonlocal begun
            if over:  # what a timed-out stream still had on its way
                return
            begun = True
            connection.begin(200, [*headers.items()])
            if streamed is not None and streamed.prelude is not None:
                chunk(json.dumps(streamed.prelude).encode() + b"\0" * 8)

        def chunk(data: bytes) -> None:
            told = eventstream.event("PayloadChunk", "application/octet-stream", data)
            connection.pass_on(told, invocation.source)

        def heard(piece: Piece) -> None:
            if not over:
                chunk(piece.data)

        if request.headers.get("x-amz-invocation-type") == "DryRun":
            connection.reply(204, headers, b"")
            return
        invocation.kind, invocation.began, invocation.heard = "stream", began, heard

        def ended(answered: Answered | Throttled) -> None:
            nonlocal over
            if isinstance(answered, Throttled):
                _throttle(request, answered, headers)
                return
            if not begun:
                began(None)
            if answered.outcome.streamed is None and answered.outcome.ok:
                chunk(answered.outcome.body)
            over = True
            last = json.dumps(_complete(answered, invocation.wants_tail)).encode()
            connection.piece(eventstream.event("InvokeComplete", _JSON, last))
            connection.end()

        self._fleet.submit(invocation, guarded(request, ended))

    def _reply(
        self, request: Request, invocation: Invocation, headers: dict[str, str], answered: Answered | Throttled
    ) -> None:
        if isinstance(answered, Throttled):
            _throttle(request, answered, headers)
            return
        headers |= {"Content-Type": _JSON, "X-Amz-Executed-Version": self._version, **measured(answered)}
        if not answered.outcome.ok:
            headers["X-Amz-Function-Error"] = "Unhandled"
        if invocation.wants_tail:
            headers["X-Amz-Log-Result"] = base64.b64encode(answered.report.tail).decode()
        request.connection.reply(200, headers, whole_body(answered))

    def _resolve(self, target: str, qualifier: str) -> str:
        """The ARN that is meant; of versions there is $LATEST alone."""
        parsed = NAME.match(target)
        if parsed is None:
            raise Refusal(400, "ValidationException", f"Value '{target}' at 'functionName' is no function's name")
        name, said = parsed.groups()
        qualifier = qualifier or said or ""
        whole = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}" + (f":{qualifier}" if qualifier else "")
        if name not in (self._fleet.settings.name, "function") or qualifier not in ("", "$LATEST"):
            raise Refusal(404, "ResourceNotFoundException", f"Function not found: {whole}")
        return whole


def _complete(answered: Answered, wants_tail: bool) -> dict[str, str]:
    """What the last event of a stream says."""
    outcome, last = answered.outcome, dict[str, str]()
    if not outcome.ok:
        said = outcome.streamed.error if outcome.streamed is not None else None
        details = json.dumps(said) if said is not None else outcome.body.decode(errors="replace")
        last |= {"ErrorCode": outcome.error_type, "ErrorDetails": details}
    if wants_tail:
        last["LogResult"] = base64.b64encode(answered.report.tail).decode()
    return last


def _throttle(request: Request, throttled: Throttled, headers: dict[str, str]) -> None:
    refuse(request, Refusal(429, "TooManyRequestsException", "Rate Exceeded.", throttled.reason), headers)


def measured(answered: Answered) -> dict[str, str]:
    """What traffic senders want to know and Lambda tells in its log alone."""
    report = answered.report
    told = {"X-Coldpress-Duration-Ms": f"{report.duration_ms:.3f}", "X-Coldpress-Billed-Ms": str(report.billed_ms)}
    return told if report.init_ms is None else told | {"X-Coldpress-Init-Ms": f"{report.init_ms:.3f}"}


def whole_body(answered: Answered) -> bytes:
    """An answer in one piece; of a stream that broke, the error that broke it."""
    outcome = answered.outcome
    if outcome.streamed is not None and outcome.streamed.error is not None:
        return json.dumps(outcome.streamed.error).encode()
    return outcome.body


def trace_id(request: Request) -> str:
    given = request.headers.get("x-amzn-trace-id", "")
    return given or f"Root=1-{int(time.time()):08x}-{'0' * 24};Sampled=0"


def refuse(request: Request, refusal: Refusal, headers: dict[str, str]) -> None:
    body = {"Type": "User", "Message": refusal.message, "message": refusal.message}
    if refusal.reason:
        body["Reason"] = refusal.reason
    headers = {**headers, "Content-Type": _JSON, "X-Amzn-ErrorType": refusal.kind}
    request.connection.reply(refusal.status, headers, json.dumps(body).encode())


def asked_for(request: Request) -> tuple[str, str]:
    """The function that a request names, and the qualifier or nothing."""
    target = _target(request.path, request.path.startswith(_STREAM))
    if request.method != "POST":
        raise Refusal(405, "MethodNotAllowedException", f"{request.method} is not for {request.path}")
    return target, _qualifier(request.query)


@lru_cache(maxsize=256)
def _target(path: str, streams: bool) -> str:
    """Which function a path names; most requests name the same."""
    prefix, ending = (_STREAM, "/response-streaming-invocations") if streams else (_INVOKE, "/invocations")
    target, found, rest = path[len(prefix) :].partition(ending)
    if not found or rest or not target:
        raise Refusal(404, "UnknownOperationException", f"{path} is no operation that is served here")
    return unquote(target)


@lru_cache(maxsize=256)
def _qualifier(query: str) -> str:
    return parse_qs(query).get("Qualifier", [""])[0]


def _event_of(request: Request) -> bytes:
    body = bytes(request.body)
    if len(body) > LARGEST_EVENT:
        raise _too_large(LARGEST_EVENT)
    if not body:
        return b"{}"
    try:
        _READER.decode(body.decode())
    except (ValueError, RecursionError) as error:
        raise Refusal(
            400, "InvalidRequestContentException", f"Could not parse request body into json: {str(error)[:200]}"
        ) from None
    return body


def _too_large(limit: int) -> Refusal:
    return Refusal(
        413,
        "RequestTooLargeException",
        f"Request must be smaller than {limit} bytes for the InvokeFunction operation",
    )


def _client_context(request: Request) -> str:
    given = request.headers.get("x-amz-client-context", "")
    if not given:
        return ""
    try:
        return json.dumps(json.loads(base64.b64decode(given)), separators=(",", ":"))
    except (ValueError, RecursionError):
        raise Refusal(
            400, "InvalidRequestContentException", "Client context must be a valid Base64-encoded JSON object."
        ) from None
