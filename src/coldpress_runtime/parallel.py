"""Several invocations in one sandbox, as on Lambda's Managed Instances: a thread for each that may be under way.

Threads wait and talk side by side; computing takes turns, since one request already computes on every CPU that
there is. A request that waits for its turn loses nothing: two at once would each take twice as long. Who opens one
of many models gives the turn away meanwhile.
"""

from _thread import allocate_lock, start_new_thread

from coldpress_runtime.runtime_api import Lost, RuntimeApi
from coldpress_runtime.settings import carry_trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from coldpress_runtime.function import Function
    from coldpress_runtime.runtime_api import Invocation

    Serve = Callable[[RuntimeApi, Function, Invocation], None]


def serve_many(address: str, function: "Function", serve: "Serve", threads: int) -> str:
    """Serve until the Runtime API is gone; returns what it said."""
    turn, over = allocate_lock(), allocate_lock()
    said: list[str] = []
    function.turn = turn
    over.acquire()

    def work() -> None:
        api = RuntimeApi(address)
        try:
            while True:
                invocation = api.next()
                with turn:
                    carry_trace(invocation.headers.get("lambda-runtime-trace-id", ""))
                    serve(api, function, invocation)
        except Lost as lost:
            said.append(str(lost))
        finally:
            if over.locked():
                over.release()

    for _ in range(threads):
        start_new_thread(work, ())
    over.acquire()
    return said[0] if said else "a thread ended"
