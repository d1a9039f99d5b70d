"""Models that are open, as many as memory holds: the one that was used longest ago goes first.

A model is lent for a request and never closed while it is out. Opening one lets go of the turn to compute, so that
requests for others go on meanwhile; who asks for one that is being opened waits for it, and nobody opens it twice.
"""

from _thread import allocate_lock
from time import monotonic_ns, sleep

from coldpress_runtime.faults import LoadError
from coldpress_runtime.native import give_memory_back

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Callable
    from typing import Any

    from coldpress_runtime.model import Model
    from coldpress_runtime.tasks import Task

#: seconds between looks, while everything that could be closed is out
_LOOK = 0.001


class Lent:
    """A model on the shelf; `users` is how many requests have it now."""

    __slots__ = ("bytes", "model", "name", "opened", "task", "trouble", "users")

    def __init__(self, name: str) -> None:
        self.name = name
        self.bytes = 0
        self.users = 1
        #: locked until it is open, or failed
        self.opened: LockType = allocate_lock()
        self.opened.acquire()
        self.trouble: Exception | None = None
        self.model: Model | None = None
        self.task: Task | None = None


class Use:
    """How a request used a model, for those who measure."""

    __slots__ = ("hit", "load_ms", "name", "texts", "tokens")

    def __init__(self, name: str, hit: bool, load_ms: float, texts: int, tokens: int) -> None:
        self.name = name
        self.hit = hit
        self.load_ms = load_ms
        self.texts = texts
        self.tokens = tokens


class Shelf:
    def __init__(
        self,
        weigh: "Callable[[str], int]",
        find: "Callable[[str], str]",
        open_: "Callable[[str], tuple[Model, Task]]",
        most: int,
        turn: "Callable[[], LockType | None]",
    ) -> None:
        """`weigh` says what a model takes of memory, `find` in which folder it lies, which may take its time;
        `most` is what all may take, in bytes, 0 for no limit."""
        self._weigh = weigh
        self._find = find
        self._open = open_
        self._most = most
        self._turn = turn
        self._lock = allocate_lock()
        #: in the order of use, the latest last
        self._held: dict[str, Lent] = {}
        self.hits = 0
        self.misses = 0
        #: what the request under way used, if somebody wants to know
        self.used: list[Use] | None = None

    @property
    def open_names(self) -> list[str]:
        return [*self._held]

    @property
    def bytes(self) -> int:
        return sum(one.bytes for one in self._held.values())

    def borrow(self, name: str) -> Lent:
        """The model, open; give it back with `give_back`."""
        with self._lock:
            found = self._held.pop(name, None)
            is_new = found is None
            lent = found or Lent(name)
            self._held[name] = lent
            if is_new:
                self.misses += 1
            else:
                self.hits += 1
                lent.users += 1
        began = monotonic_ns()
        if is_new:
            self._out_of_turn(lambda: self._fill(lent))
        elif lent.opened.locked():
            self._out_of_turn(lambda: _wait(lent.opened))
        if lent.trouble is not None:
            self.give_back(lent)
            raise lent.trouble
        if self.used is not None:
            from coldpress_runtime.metrics import counted

            texts, tokens = counted(lent.task)
            self.used.append(Use(name, not is_new, (monotonic_ns() - began) / 1e6, -texts, -tokens))
        return lent

    def give_back(self, lent: Lent) -> None:
        if self.used and lent.task is not None:
            from coldpress_runtime.metrics import counted

            texts, tokens = counted(lent.task)
            self.used[-1].texts += texts
            self.used[-1].tokens += tokens
        with self._lock:
            lent.users -= 1

    def _out_of_turn(self, work: "Callable[[], None]") -> None:
        turn = self._turn()
        if turn is None:
            return work()
        turn.release()
        try:
            work()
        finally:
            turn.acquire()
        return None

    def _fill(self, lent: Lent) -> None:
        """Open it. What goes wrong is told to all who wait for it, and the next one who asks tries again."""
        try:
            folder = self._find(lent.name)
            self._make_room(lent, self._weigh(lent.name))
            lent.model, lent.task = self._open(folder)
        except Exception as trouble:
            with self._lock:
                self._held.pop(lent.name, None)
                _close(lent)
            lent.trouble = trouble
        finally:
            lent.opened.release()

    def _make_room(self, lent: Lent, wanted: int) -> None:
        """Close others until there is room, and take it. What is out is waited for: requests end."""
        if self._most and wanted > self._most:
            raise LoadError(
                f"the model {lent.name!r} takes {wanted / 1e6:.1f} MB of memory; all may have "
                f"{self._most / 1e6:.1f} (COLDPRESS_MODEL_MEMORY): give the function more"
            )
        while not self._take_room(lent, wanted):
            sleep(_LOOK)

    def _take_room(self, lent: Lent, wanted: int) -> bool:
        with self._lock:
            for other in [*self._held.values()]:
                if not self._most or self.bytes + wanted <= self._most:
                    break
                if not other.users:
                    del self._held[other.name]
                    _close(other)
            if self._most and self.bytes + wanted > self._most:
                return False
            lent.bytes = wanted
            return True


def _close(lent: Lent) -> None:
    session: Any = None if lent.model is None else lent.model.session
    lent.model = lent.task = None
    lent.bytes = 0
    if session is None:
        return
    in_pieces = not hasattr(type(session), "memory")  # another engine than press, which takes few and large ones
    session.close()
    if in_pieces:
        give_memory_back()


def _wait(lock: "LockType") -> None:
    with lock:
        pass
