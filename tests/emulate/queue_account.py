"""moto's SQS made safe for many at once, and moto in processes of its own.

SQS is a stand-in here, and a loose one: moto rebuilds its list of messages while other threads change it, so that
deletions get lost and letters double; and of a FIFO queue's messages that come back it gives the last one first.
SQS does neither. `orderly` has moto do one thing after the other; and since it looks at every message for each one
that is sent or received, it is given a quick clock to do so with, and is best not sent thousands at once.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_ONE_BY_ONE = (
    "send_message",
    "send_message_batch",
    "delete_message",
    "delete_message_batch",
    "purge_queue",
    "change_message_visibility",
    "get_queue_attributes",
    "create_queue",
)
#: seconds between looks of a long poll
_LOOK = 0.02


def orderly(replace: Callable[[Any, str, Any], None] = setattr) -> None:
    """`replace` sets an attribute: a monkeypatch's, where it should be set back."""
    from moto.sqs import models
    from moto.sqs.models import SQSBackend

    lock = threading.RLock()

    def alone(original: Any) -> Any:
        def call(*said: Any, **more: Any) -> Any:
            with lock:
                return original(*said, **more)

        return call

    receive = SQSBackend.receive_message

    def receive_in_order(self: Any, name: str, count: int, wait: int, hidden: int, attributes: Any = None) -> Any:
        end = time.monotonic() + wait
        while True:
            with lock:
                queue = self.get_queue(name)
                for one in [one for one in queue.pending_messages if one.visible]:
                    queue.pending_messages.remove(one)
                found = receive(self, name, count, 0, hidden, attributes)
            if found or time.monotonic() >= end:
                return found
            time.sleep(_LOOK)

    for name in _ONE_BY_ONE:
        replace(SQSBackend, name, alone(getattr(SQSBackend, name)))
    replace(SQSBackend, "receive_message", receive_in_order)
    replace(SQSBackend, "is_message_valid_based_on_retention_period", lambda self, name, message: True)
    replace(models, "unix_time_millis", lambda: time.time() * 1000)


@contextmanager
def moto_process() -> Iterator[str]:
    """moto with a whole interpreter to itself: it takes as much of one as thousands of messages do."""
    process = subprocess.Popen(
        [sys.executable, __file__], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _serve() -> None:
    from moto.server import ThreadedMotoServer

    orderly()
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    sys.stdout.write(f"http://{host}:{port}\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    _serve()
