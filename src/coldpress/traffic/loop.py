"""An event loop that wakes on time. Its own timers are good to a millisecond, and a warm answer takes one."""

import asyncio
import contextlib
import resource
import select
import selectors
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

from coldpress.errors import UsageError


class _Exact(selectors.EpollSelector):
    """epoll waits whole milliseconds; select waits microseconds, and can wait for an epoll.

    Timers are 0.1 ms late by this, 0.4 without, and 0.3 to 1.3 with uvloop, whose clock ticks in milliseconds.
    """

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout > 0:
            select.select([self.fileno()], [], [], timeout)
        return super().select(0)


def new_loop() -> asyncio.AbstractEventLoop:
    return asyncio.SelectorEventLoop(_Exact())


@contextlib.contextmanager
def told_to_stop(loop: asyncio.AbstractEventLoop, stop: Callable[[], Any]) -> Iterator[None]:
    """Ctrl-C and SIGTERM call `stop` meanwhile, unless they are ignored or this is not the main thread's loop."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    heard = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in heard:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number, handler in heard.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


def allow_files(count: int) -> None:
    """Room for `count` connections. Without it they would fail, and look as if the server refused them."""
    needed = count + 64  # what else is open
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise UsageError(f"{count:,} connections are more than the {hard:,} open files allowed here (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
