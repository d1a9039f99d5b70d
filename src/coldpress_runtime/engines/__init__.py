"""Engines: each opens a model and runs it on token ids. One file per engine.

Tasks never learn which engine they were given.
"""

from coldpress_runtime.faults import LoadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Engine(Protocol):
        def open(self, folder: str, spec: dict[str, Any], threads: int) -> "Session": ...

    class Session(Protocol):
        def run(self, batch: list[list[int]]) -> "Output": ...

    class Output(Protocol):
        """What a batch came to: for each text one row, or one row per token."""

        def row(self, at: int) -> tuple[int, int]:
            """Where the floats of text `at` begin and end."""

        def json(self, start: int, stop: int) -> str:
            """Floats as a JSON array; an EngineError when one of them is not finite."""

        def raw(self, start: int, stop: int) -> bytes: ...
        def close(self) -> None: ...


def load_engine(name: str, libraries: tuple[str, ...]) -> "Engine":
    """Load the engine called `name`, found in one of the folders `libraries`."""
    if name == "press":
        from coldpress_runtime.engines import press

        return press.Engine(libraries)
    if name == "onnxruntime":
        from coldpress_runtime.engines import onnxruntime

        return onnxruntime.Engine(libraries)
    raise LoadError(f"task.json names the engine {name!r}; this runtime has: press, onnxruntime")
