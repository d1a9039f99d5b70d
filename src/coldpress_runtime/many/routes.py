"""Many models over HTTP: /models/NAME/…, or the usual paths with the model named in the body."""

from coldpress_runtime import log
from coldpress_runtime.faults import BadRequest, LoadError
from coldpress_runtime.http import Reply, allow, error_body, find_route, read_value
from coldpress_runtime.jsontext import dumps, loads
from coldpress_runtime.many.choice import not_found, without_name
from coldpress_runtime.token import check, is_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from coldpress_runtime.function import Function
    from coldpress_runtime.http import Request
    from coldpress_runtime.many.choice import Many

_BELOW = "/models"
#: seconds until a model that could not be opened is worth another try
_RETRY = "1"


def answer(function: "Function", many: "Many", request: "Request", room: int) -> Reply:
    own = _own(function, many, request)
    allowed = many.index.names if own is None else own
    if request.path == "/health":
        allow(request, "GET", "HEAD")
        return Reply(200, '{"status": "ok"}')
    if request.path in (_BELOW, "/v1/models"):
        allow(request, "GET", "HEAD")
        return Reply(200, dumps(_listing(many, allowed, request.path)))
    name, path = _split(request.path)
    if name and name not in allowed:
        raise not_found(name, allowed)
    if path == "/openapi.json":
        allow(request, "GET", "HEAD")
        return Reply(200, dumps(_document(many, [name] if name else allowed, bool(name))))
    value: object = None
    if not name:
        is_json = not request.headers.get("content-type", "").startswith(("image/", "audio/"))
        value = loads(request.body) if is_json and request.method == "POST" else None
        name = many.named(value, own)
    return _asked(many, name, path, value, request, room)


def _asked(many: "Many", name: str, path: str, value: object, request: "Request", room: int) -> Reply:
    try:
        lent = many.shelf.borrow(name)
    except LoadError as trouble:  # its own callers hear of it, and everybody else is served
        log.error(f"the model {name!r} could not be opened", "-", trouble)
        body = error_body(BadRequest(503, "model_unavailable", str(trouble)))
        return Reply(503, body, {"retry-after": _RETRY})
    try:
        assert lent.task is not None
        route = find_route(lent.task, path, request)
        given = read_value(lent.task, request) if value is None else value
        value, request.body = None, ""  # megabytes, perhaps, and not needed twice
        return Reply(200, route(without_name(given), room))
    finally:
        many.shelf.give_back(lent)


def _own(function: "Function", many: "Many", request: "Request") -> list[str] | None:
    """The models of whoever sent it, the usual one first; None for who may use all: the function's own token."""
    said = request.headers.get("authorization", "")
    if many.tenants is None or many.tenants.by_header:
        if function.token_sha256:
            check(said, function.token_sha256)
        return None if many.tenants is None else many.tenants.models(request)
    if function.token_sha256 and is_right(said, function.token_sha256):
        return None
    return many.tenants.models(request)


def _split(path: str) -> tuple[str, str]:
    """The name in a path, if there is one, and the rest."""
    if not path.startswith(f"{_BELOW}/"):
        return "", path
    name, _, rest = path[len(_BELOW) + 1 :].partition("/")
    return name, f"/{rest}"


def _listing(many: "Many", names: list[str], path: str) -> "dict[str, Any]":
    if path == _BELOW:
        opened = many.shelf.open_names
        return {
            "models": [
                {"name": name, "task": many.index.spec(name)["task"], "open": name in opened} for name in names
            ]
        }
    # As OpenAI's clients read it.
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "coldpress"} for name in names]
    return {"object": "list", "data": data}


def _document(many: "Many", names: list[str], is_alone: bool) -> "dict[str, Any]":
    """The OpenAPI document of one model, or of all of them with their paths below their names."""
    from coldpress_runtime.openapi import document

    documents = {name: document(many.index.spec(name)) for name in names}
    whole = documents[names[0]]
    if is_alone:
        return whole
    paths: dict[str, Any] = {}
    for name, one in documents.items():
        for path, operations in one["paths"].items():
            below = path if path == "/health" else f"{_BELOW}/{name}{path}".rstrip("/")
            paths[below] = operations
    info = {"title": "models", "version": whole["info"]["version"], "description": f"Models: {', '.join(names)}"}
    return {**whole, "info": info, "paths": paths}
