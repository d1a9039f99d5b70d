"""Invocations that nobody waits for: kept, tried three times, and written to a dead-letter file in the end."""

import asyncio
import json
import time
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from coldpress.emulate.sandboxes.fleet import Fleet, Throttled
from coldpress.emulate.sandboxes.invocation import Answered, Invocation

LARGEST_BACKGROUND_EVENT = 1024 * 1024
_TRIES = 3
#: Lambda waits a minute before the second try and two before the third; here a person waits
RETRY_AFTER = 1.0
_OLDEST = 6 * 3600
#: why an event was given up that no invocation answered
_UNANSWERED = ("EventAgeExceeded", "EmulatorStopped")


class Background:
    def __init__(self, fleet: Fleet, dead_letters: Path, retry_after: float = RETRY_AFTER) -> None:
        self._fleet = fleet
        self._dead_letters = dead_letters
        self._retry_after = retry_after
        self._tasks: dict[asyncio.Task[None], Invocation] = {}

    @property
    def waiting(self) -> int:
        return len(self._tasks)

    def add(self, invocation: Invocation) -> None:
        task = asyncio.get_running_loop().create_task(self._carry(invocation))
        self._tasks[task] = invocation
        task.add_done_callback(lambda done: self._tasks.pop(done, None))

    def close(self) -> None:
        """Nothing that was accepted is lost: what has not been answered is written down."""
        for task, invocation in [*self._tasks.items()]:
            task.cancel()
            self._bury(invocation, b"", "EmulatorStopped")

    async def _carry(self, first: Invocation) -> None:
        error = b"", ""
        for attempt in range(1, _TRIES + 1):
            invocation = replace(first, arrived=time.monotonic())
            answered = await self._place(invocation, first.arrived)
            if answered is None or answered.outcome.ok:
                return
            error = answered.outcome.body, answered.outcome.error_type
            if attempt < _TRIES:
                await asyncio.sleep(self._retry_after * attempt)
        self._bury(first, *error)

    async def _place(self, invocation: Invocation, since: float) -> Answered | None:
        """Being throttled is no try: it waits for room, for six hours."""
        pause = 0.05
        while True:
            ended: asyncio.Future[Answered | Throttled] = asyncio.get_running_loop().create_future()
            self._fleet.submit(invocation, ended.set_result)
            answered = await ended
            if isinstance(answered, Answered):
                return answered
            if time.monotonic() - since > _OLDEST:
                self._bury(invocation, b"", "EventAgeExceeded")
                return None
            await asyncio.sleep(pause)
            pause = min(pause * 2, 5.0)

    def _bury(self, invocation: Invocation, body: bytes, error_type: str) -> None:
        """As an on-failure destination gets it."""
        record = {
            "version": "1.0",
            "timestamp": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            "requestContext": {
                "requestId": invocation.request_id,
                "functionArn": f"{invocation.arn}:$LATEST",
                "condition": error_type if error_type in _UNANSWERED else "RetriesExhausted",
                "approximateInvokeCount": _TRIES,
            },
            "requestPayload": json.loads(invocation.event),
            "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
            "responsePayload": _parsed(body),
        }
        try:
            with self._dead_letters.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
        except OSError as error:
            self._fleet.log.add(
                "", f"{self._dead_letters} cannot be written ({error}); lost: {json.dumps(record)}"
            )


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")
