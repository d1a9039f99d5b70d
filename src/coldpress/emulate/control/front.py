"""Who answers what of a local Lambda's requests: its API, Invoke, or a function's URL."""

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import parse_qs
from uuid import uuid4

from coldpress.emulate.control import errors, names, permissions, urls, watch
from coldpress.emulate.control.calls import Call
from coldpress.emulate.control.fleets import Served
from coldpress.emulate.control.plane import Plane
from coldpress.emulate.control.routes import WITH_CODE, find_route
from coldpress.emulate.control.store import Function
from coldpress.emulate.front.guard import guarded
from coldpress.emulate.front.invoke_api import InvokeApi, Refusal, asked_for, refuse
from coldpress.emulate.front.signatures import Credentials, Unsigned, check_signature
from coldpress.emulate.sandboxes.invocation import LARGEST_EVENT
from coldpress.emulate.wire import Connection, Request

#: what Lambda takes of CreateFunction and UpdateFunctionCode, and of the other calls
LARGEST_WITH_CODE = 70_167_211
LARGEST_CALL = LARGEST_EVENT
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_INVOKES = ("/invocations", "/response-streaming-invocations")
_HOST = re.compile(r"[\w.:\[\]-]+", re.ASCII)


class Front:
    """Hands each request to who it is for: a wire.Service."""

    largest = LARGEST_WITH_CODE
    largest_head = 65536

    def __init__(self, plane: Plane, credentials: Credentials, signed: bool, host: str) -> None:
        self._plane = plane
        self._credentials = credentials
        self._signed = signed
        #: a web page from elsewhere that made its own name lead here must not deploy anything
        self._names = _LOOPBACK if host in ("127.0.0.1", "localhost", "::1") else ()
        self._connections: set[Connection] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.base = ""

    # wire.Service

    def joined(self, connection: Connection) -> None:
        self._connections.add(connection)

    def opened(self, request: Request) -> None:
        """What is too large is not kept, and told when its sender has come to an end."""
        length = request.headers.get("content-length", "0")
        if length.isdecimal() and int(length) > LARGEST_EVENT and int(length) > _largest(request):
            request.sink = _drop

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)

    def close(self) -> None:
        for connection in [*self._connections]:
            connection.close()

    async def finish(self) -> None:
        """Let calls that are being answered end."""
        if self._tasks:
            await asyncio.wait([*self._tasks])

    def serve(self, request: Request) -> None:
        guarded(request, self._serve)(request)

    def _serve(self, request: Request) -> None:
        path = request.path
        try:
            if path.startswith(urls.PREFIX):
                url_id, _, rest = path.removeprefix(urls.PREFIX).partition("/")
                self._by_url(request, url_id, f"/{rest}")
            elif InvokeApi.serves(path) and path.endswith(_INVOKES) and path.count("/") == 4:
                self._check_caller(request)
                self._invoke(request)
            elif ".lambda-url." in request.headers.get("host", ""):
                self._by_url(request, request.headers["host"].partition(".")[0], path)
            elif path.startswith("/_/"):
                self._check_caller(request)
                _reply(request, 200, watch.answer(self._plane, path, parse_qs(request.query)))
            else:
                self._check_caller(request)
                self._later(request, self._call(request))
        except Refusal as refusal:
            refuse(request, refusal, {"X-Amzn-RequestId": str(uuid4())})

    def _later(self, request: Request, work: Coroutine[Any, Any, None]) -> None:
        async def answered() -> None:
            try:
                await work
            except Refusal as refusal:
                refuse(request, refusal, {"X-Amzn-RequestId": str(uuid4())})
            except Exception as error:  # noqa: BLE001 - told by guarded(), as every fault of ours
                guarded(request, _again)(error)

        task = asyncio.get_running_loop().create_task(answered())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # the API

    def _check_caller(self, request: Request) -> None:
        """Deploying is running code: no web page may do that, by whatever name it reached us."""
        host = request.headers.get("host", "")
        own = not self._names or host in self._names or host.rpartition(":")[0] in self._names
        if "origin" in request.headers or not own:
            raise errors.denied(
                f"a web page may not use this API, and {host[:80]!r} must be this machine's own name"
            )
        if self._signed:
            try:
                check_signature(request, self._credentials)
            except Unsigned as error:
                raise errors.denied(str(error)) from None

    async def _call(self, request: Request) -> None:
        route, path = find_route(request.method, request.path)
        if request.sink is not None:
            raise errors.too_large(_largest(request), route.name)
        body = bytes(request.body)
        said = await asyncio.to_thread(_parsed, body) if len(body) > 1 << 16 else _parsed(body)
        host = request.headers.get("host", "")
        base = f"http://{host}" if _HOST.fullmatch(host) else self.base
        call = Call(path, parse_qs(request.query, keep_blank_values=True), said, base)
        answer = route.operation(self._plane, call)
        if inspect.isawaitable(answer):
            answer = await answer
        _reply(request, route.status, answer)

    # what functions are asked

    def _invoke(self, request: Request) -> None:
        said, qualifier = asked_for(request)
        name, qualifier = names.split(said, qualifier)
        if request.sink is not None:
            raise errors.too_large(LARGEST_EVENT, "InvokeFunction")
        function = self._plane.function(name, qualifier)
        version = self._plane.route(function, qualifier)
        arn = names.arn(name, qualifier)
        self._with(request, function, version, lambda served: served.api.answer(request, arn))

    def _by_url(self, request: Request, url_id: str, path: str) -> None:
        found = urls.find(self._plane, url_id)
        if found is None:
            raise errors.not_found(f"there is no Function URL with the id {url_id[:64]!r}")
        function, qualifier = found
        url = function.urls[qualifier]
        if request.sink is not None:
            raise errors.too_large(LARGEST_EVENT, "InvokeFunction")
        if not urls.is_preflight(request, url):
            if url["AuthType"] == "AWS_IAM":
                try:
                    check_signature(request, self._credentials)
                except Unsigned as error:
                    urls.refuse(request, str(error))
                    return
            elif lacking := permissions.missing_for_all(function, qualifier):
                urls.refuse(request, f"Forbidden: the policy does not let everybody in, it lacks {lacking[0]}")
                return
        version = self._plane.route(function, qualifier)
        arn = names.arn(function.name, qualifier)
        request.path = path
        self._with(
            request, function, version, lambda served: urls.PlacedUrl(served.fleet, url, arn).answer(request)
        )

    def _with(self, request: Request, function: Function, version: str, then: Callable[[Served], None]) -> None:
        """Now, if the version runs already; else when its first sandbox can be started."""
        served = self._plane.fleets.find(function, version)
        if served is not None:
            then(served)
            return

        async def made() -> None:
            then(await self._plane.fleets.ensure(function.name, version))

        self._later(request, made())


def _largest(request: Request) -> int:
    path = request.path.rstrip("/")
    try:
        named = find_route(request.method, path)[0].name
    except Refusal:
        return LARGEST_EVENT + 65536  # Invoke, or a URL: they say themselves what is too much
    return LARGEST_WITH_CODE if named in WITH_CODE else LARGEST_CALL


def _drop(data: bytes, ended: bool) -> None:
    """Takes a body that nobody will read."""


def _again(error: Exception) -> None:
    raise error


def _parsed(body: bytes) -> dict[str, Any]:
    if not body:
        return {}
    try:
        said = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise errors.malformed(f"Could not parse request body into json: {str(error)[:200]}") from None
    if not isinstance(said, dict):
        raise errors.malformed("the request's body must be a JSON object")
    return said


def _reply(request: Request, status: int, answer: dict[str, Any] | None) -> None:
    headers = {"X-Amzn-RequestId": str(uuid4()), "Content-Type": "application/json"}
    body = b"" if answer is None else json.dumps(answer).encode()
    request.connection.reply(status, headers, body)
