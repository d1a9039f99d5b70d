"""Progress: long work shows what it is doing. Stages talk to this, never to a terminal."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import monotonic
from typing import Protocol

from rich.console import Console

Say = Callable[[str], None]


class Progress(Protocol):
    def stage(self, name: str) -> AbstractContextManager[Say]: ...


class Silent:
    """For programs: nothing is shown."""

    def stage(self, name: str) -> AbstractContextManager[Say]:
        return nullcontext(lambda text: None)


class Shown:
    """For people: a line per stage, with what it found and how long it took."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @contextmanager
    def stage(self, name: str) -> Iterator[Say]:
        began = monotonic()
        last = ""

        def say(text: str) -> None:
            nonlocal last
            last = text
            status.update(f"[bold]{name:<9}[/] {text}")

        with self._console.status(f"[bold]{name}[/]") as status:
            yield say
        took = monotonic() - began
        self._console.print(f"[green]✓[/] [bold]{name:<9}[/] {last} [dim]{took:.1f} s[/]", highlight=False)
