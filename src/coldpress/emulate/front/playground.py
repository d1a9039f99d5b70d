"""What a person sees of a served function at /_/: the page, and the state and events that it shows."""

import asyncio
import json
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from coldpress.emulate.front.background import Background
from coldpress.emulate.sandboxes.fleet import Fleet
from coldpress.emulate.sandboxes.ledger import Record
from coldpress.emulate.sandboxes.logbook import Entry
from coldpress.emulate.wire import Connection, Request

_SAFE = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; media-src 'self' data: blob:; "
    "style-src 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_EVERY = 0.25


class Playground:
    def __init__(
        self, fleet: Fleet, background: Background, facts: dict[str, object], signed: bool, host: str
    ) -> None:
        self._fleet = fleet
        self._background = background
        self._facts = facts
        self._signed = signed
        #: a web page from elsewhere that made its own name lead here must not read logs
        self._names = _LOOPBACK if host in ("127.0.0.1", "localhost", "::1") else ()
        self._watching: set[Connection] = set()
        self._last = ""
        self._ticking: asyncio.Task[None] | None = None
        fleet.log.listeners.append(self._log)
        fleet.ledger.listeners.append(self._request)

    def answer(self, request: Request) -> None:
        if not self.is_own(request):
            host = request.headers.get("host", "")
            _reply(request, 403, "text/plain", f"{host} is not this machine's own name\n".encode())
            return
        if request.method not in ("GET", "HEAD"):
            _reply(request, 405, "text/plain", b"only GET\n")
            return
        name = request.path.removeprefix("/_/")
        if name == "status":
            _reply(request, 200, "application/json", json.dumps(self._whole()).encode())
        elif name == "events":
            self._watch(request)
        else:
            self._file(request, name or "index.html")

    def is_own(self, request: Request) -> bool:
        """Whether it was asked by this machine's own name: another page's may have been made to lead here."""
        host = request.headers.get("host", "")
        return not self._names or host in self._names or host.rpartition(":")[0] in self._names

    def left(self, connection: Connection) -> None:
        self._watching.discard(connection)

    def close(self) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
        for connection in [*self._watching]:
            connection.abort()

    def _file(self, request: Request, name: str) -> None:
        folder = files("coldpress.emulate.front").joinpath("page")
        found = next((one for one in folder.iterdir() if one.name == name and one.is_file()), None)
        if found is None:
            _reply(request, 404, "text/plain", b"there is no such part of the page\n")
            return
        _reply(request, 200, _KINDS.get(name.rpartition(".")[2], "text/plain"), found.read_bytes())

    def state(self) -> dict[str, Any]:
        settings = self._fleet.settings
        return {
            "function": {
                "name": settings.name,
                "memory_mb": settings.memory_mb,
                "timeout_s": settings.timeout,
                "concurrency": settings.concurrency,
                "provisioned": settings.provisioned,
                "idle_s": settings.idle,
                "arch": settings.arch,
                "url_auth": "AWS_IAM" if self._signed else "NONE",
                **self._facts,
            },
            "world": [asdict(one) for one in self._fleet.starter.held],
            "sandboxes": [sandbox.facts() for sandbox in self._fleet.sandboxes.values()],
            "totals": {**self._fleet.ledger.sums(), "events_waiting": self._background.waiting},
        }

    def _whole(self) -> dict[str, Any]:
        return {
            **self.state(),
            "requests": self._fleet.ledger.requests,
            "logs": [entry._asdict() for entry in self._fleet.log.entries],
        }

    def _watch(self, request: Request) -> None:
        connection = request.connection
        connection.begin(200, [("Content-Type", "text/event-stream"), *_SAFE.items()])
        connection.piece(_event("hello", self._whole()))
        self._watching.add(connection)
        if self._ticking is None or self._ticking.done():
            self._ticking = asyncio.get_running_loop().create_task(self._tick())

    async def _tick(self) -> None:
        while self._watching:
            state = self.state()
            text = json.dumps(state)
            if text != self._last:
                self._last = text
                self._tell("state", state)
            await asyncio.sleep(_EVERY)

    def _request(self, record: Record) -> None:
        if self._watching:
            self._tell("request", record.told())

    def _log(self, entries: list[Entry]) -> None:
        if self._watching:
            for entry in entries:
                self._tell("log", entry._asdict())

    def _tell(self, kind: str, data: dict[str, Any]) -> None:
        told = _event(kind, data)
        for connection in [*self._watching]:
            if connection.slow:  # a page that does not read gets the whole state when it comes back
                connection.abort()
            else:
                connection.piece(told)


def _event(kind: str, data: dict[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()


def _reply(request: Request, status: int, kind: str, body: bytes) -> None:
    request.connection.reply(status, {"Content-Type": kind, **_SAFE}, body)
