"""Receives until a batch is full, or as large as an event may be, or its window is over."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from coldpress.emulate.queues.batching import AT_ONCE, Batching
from coldpress.emulate.queues.queue import LONG_POLL, Message
from coldpress.emulate.sandboxes.invocation import LARGEST_EVENT

#: at most so many messages, waited for so many seconds
Receive = Callable[[int, int], Awaitable[list[Message]]]
#: seconds between looks at the end of a window: SQS itself waits whole seconds
_LOOK = 0.2


async def gather(receive: Receive, batching: Batching, stopping: asyncio.Event) -> list[Message]:
    """The next messages, or none if none came. The window opens with the first; who stops closes it."""
    found = await receive(min(AT_ONCE, batching.size), LONG_POLL)
    end = time.monotonic() + batching.window
    size = _size(found)
    while found and len(found) < batching.size and size < LARGEST_EVENT and not stopping.is_set():
        left = end - time.monotonic()
        if left <= 0:
            break
        wait = min(int(left), LONG_POLL)
        more = await receive(min(AT_ONCE, batching.size - len(found)), wait)
        found += more
        size += _size(more)
        if not more and not wait:
            await asyncio.sleep(min(left, _LOOK))
    return found


def _size(messages: list[Message]) -> int:
    return sum(len(one.get("Body", "")) for one in messages)
