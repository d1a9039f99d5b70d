"""Stretches, asked of a local Lambda by as many as there are sandboxes."""

import json
import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

from coldpress.bulk.job import Chunk
from coldpress.bulk.store import SOURCE, TARGET

_TRIES = 3
_PAUSE = 0.5
_BUSY = 429
#: of an error, what is told
_SHOWN = 500


@dataclass(frozen=True)
class Asked:
    """What came of a stretch: its numbers, or a reason."""

    chunk: Chunk
    lines: int = 0
    failed: int = 0
    problem: str = ""


class Workers:
    """Each asks for one stretch after the other."""

    def __init__(self, url: str, name: str, chunks: list[Chunk], count: int, patience: float) -> None:
        self._address = urlsplit(url).netloc
        self._path = f"/2015-03-31/functions/{name}/invocations"
        self._patience = patience
        self._left = iter(chunks)
        self._taking = threading.Lock()
        self._stopped = False
        self._ended: queue.SimpleQueue[Asked | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._work, name="map", daemon=True) for _ in range(count)]

    def results(self) -> Iterator[Asked]:
        """As they come, until all are there or somebody stops."""
        for thread in self._threads:
            thread.start()
        left = len(self._threads)
        while left:
            asked = self._ended.get()
            if asked is None:
                left -= 1
            else:
                yield asked

    def stop(self) -> None:
        """No more are asked for; what is under way is not waited for."""
        self._stopped = True

    def _take(self) -> Chunk | None:
        with self._taking:
            return None if self._stopped else next(self._left, None)

    def _work(self) -> None:
        connection = HTTPConnection(self._address, timeout=self._patience)
        try:
            while (chunk := self._take()) is not None:
                asked = self._ask(connection, chunk)
                if not self._stopped:
                    self._ended.put(asked)
        finally:
            connection.close()
            self._ended.put(None)

    def _ask(self, connection: HTTPConnection, chunk: Chunk) -> Asked:
        """Tried again where that may help, as the state machine does it on AWS."""
        event, problem = json.dumps(chunk.event(SOURCE, TARGET)), ""
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(_PAUSE * attempt)
            if self._stopped:
                break
            try:
                connection.request("POST", self._path, event, {"Content-Type": "application/json"})
                response = connection.getresponse()
                body = response.read()
            except (OSError, HTTPException) as error:
                connection.close()
                problem = f"the local Lambda did not answer: {type(error).__name__}: {error}"
                continue
            if response.status == 200 and response.headers.get("X-Amz-Function-Error") is None:
                return _read(chunk, body)
            problem = _said(body)
        return Asked(chunk, problem=problem)


def _read(chunk: Chunk, body: bytes) -> Asked:
    """The function's own numbers; one that answers otherwise does not know this kind of work."""
    try:
        found = json.loads(body)
        return Asked(chunk, int(found["lines"]), int(found["failed"]))
    except (ValueError, LookupError, TypeError):
        return Asked(chunk, problem=f"{UNKNOWN}; it answered: {body[:_SHOWN].decode(errors='replace')}")


UNKNOWN = "the function does not know bulk work: build it again with this coldpress"


def _said(body: bytes) -> str:
    """The words of an error, as Lambda gives it."""
    try:
        found: Any = json.loads(body)
        return f"{found.get('errorType', '')}: {found.get('errorMessage', found.get('message', ''))}"[:_SHOWN]
    except (ValueError, AttributeError):
        return body[:_SHOWN].decode(errors="replace")
