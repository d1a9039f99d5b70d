"""Engines: each opens a model file and runs it on buffers. One file per engine.

Tasks never learn which engine they were given.
"""

from coldpress_runtime.faults import LoadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Engine(Protocol):
        def open(self, path: str, inputs: list[str], output: str, threads: int, fold: bool) -> "Session": ...

    class Session(Protocol):
        def run(self, inputs: list[list[int]], shape: tuple[int, ...]) -> "Output": ...

    class Output(Protocol):
        shape: tuple[int, ...]

        def floats(self, start: int, stop: int) -> list[float]: ...
        def raw(self, start: int, stop: int) -> bytes: ...
        def close(self) -> None: ...


def load_engine(name: str, libraries: tuple[str, ...]) -> "Engine":
    """Load the engine called `name`, found in one of the folders `libraries`."""
    if name == "onnxruntime":
        from coldpress_runtime.engines.onnxruntime import Engine

        return Engine(libraries)
    raise LoadError(f"task.json names the engine {name!r}; this runtime has: onnxruntime")
