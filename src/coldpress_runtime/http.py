"""HTTP as every source sees it: a request, a reply, and the routes between them."""

from coldpress_runtime.faults import BadRequest
from coldpress_runtime.jsontext import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from coldpress_runtime.function import Function
    from coldpress_runtime.tasks import Route, Task


class Request:
    __slots__ = ("body", "headers", "method", "path")

    def __init__(self, method: str, path: str, headers: dict[str, str], body: str | bytes) -> None:
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body


class Reply:
    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, body: str, headers: dict[str, str] | None = None) -> None:
        self.status = status
        self.body = body
        self.headers = {"content-type": "application/json", **(headers or {})}


def read_request(event: "Mapping[str, object]", method: object, path: object, headers: dict[str, str]) -> Request:
    """The request in an event, its body decoded; the same in all sources but for names."""
    body = event.get("body")
    raw: str | bytes = body.removeprefix("\ufeff") if isinstance(body, str) else ""
    if event.get("isBase64Encoded") is True:
        from binascii import Error, a2b_base64

        try:
            raw = a2b_base64(raw)
        except (Error, ValueError):
            raise BadRequest(400, "invalid_json", "the event's body says it is base64 and is not") from None
    plain = path if isinstance(path, str) and path.startswith("/") else "/"
    if len(plain) > 1:
        plain = plain.rstrip("/") or "/"
    return Request(str(method).upper(), plain, headers, raw)


def joined_headers(headers: object) -> dict[str, str]:
    """Headers with lower-case names, whether an event carries one value for each or a list."""
    if not isinstance(headers, dict):
        return {}
    return {
        str(name).lower(): ",".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in headers.items()
    }


def error_body(error: BadRequest) -> str:
    return dumps({"error": {"code": error.code, "message": error.message}})


def answer(function: "Function", request: Request, room: int) -> Reply:
    """Let a request through the token, find its route, and answer it."""
    try:
        if function.many is not None:
            from coldpress_runtime.many import routes

            return routes.answer(function, function.many, request, room)
        if function.token_sha256:
            from coldpress_runtime.token import check

            check(request.headers.get("authorization", ""), function.token_sha256)
        return _route(function, request, room)
    except BadRequest as error:
        return Reply(error.status, error_body(error), error.headers)


def _route(function: "Function", request: Request, room: int) -> Reply:
    if request.path == "/health":
        allow(request, "GET", "HEAD")
        return Reply(200, '{"status": "ok"}')
    if request.path == "/openapi.json":
        allow(request, "GET", "HEAD")
        from coldpress_runtime.openapi import document

        return Reply(200, dumps(document(function.spec)))
    task = function.task()
    route = find_route(task, request.path, request)
    value, request.body = read_value(task, request), ""  # megabytes, perhaps, and not needed twice
    return Reply(200, route(value, room))


def find_route(task: "Task", path: str, request: Request) -> "Route":
    """What answers at `path`, the request's own or what is left of it."""
    route = task.routes.get(path)
    if route is None:
        known = ", ".join([*(f"POST {path}" for path in task.routes), "GET /health", "GET /openapi.json"])
        raise BadRequest(
            404, "not_found", f"there is nothing at {request.path[:200]!r}; this function has {known}"
        )
    allow(request, "POST")
    return route


def read_value(task: "Task", request: Request) -> object:
    """What was sent: JSON, or, where a task takes them, the plain bytes of a picture or a sound."""
    kind, body = request.headers.get("content-type", ""), request.body
    if not kind.startswith(getattr(task, "bytes_types", ())):
        return loads(body)
    field: str = getattr(task, "bytes_field")  # noqa: B009 - only some tasks have it
    # Sources that are not told to encode bytes hand them over as text, and that has lost some of them.
    return {field: body if isinstance(body, bytes) else body.encode("latin-1", "replace")}


def allow(request: Request, *methods: str) -> None:
    if request.method not in methods:
        allowed = ", ".join(methods)
        raise BadRequest(
            405,
            "method_not_allowed",
            f"{request.path} does not take {request.method[:20]}; it takes {allowed}",
            {"allow": allowed},
        )
