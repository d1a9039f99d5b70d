"""Engines: each opens a model and runs it. One file per engine.

Press takes token ids; the others take tensors, and `even` makes texts of several lengths into such.
Tasks never learn which engine they were given.
"""

from coldpress_runtime.faults import LoadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Protocol

    #: a tensor to read: its type, its shape, its numbers as they lie in memory
    Input = tuple[str, "tuple[int, ...]", Any]

    class Engine(Protocol):
        def open(self, folder: str, spec: dict[str, Any], threads: int) -> Any:
            """A Session or a TensorSession, as the engine is."""

    class TensorSession(Protocol):
        def call(self, inputs: Sequence[Input]) -> "list[Tensor]": ...
        def close(self) -> None: ...

    class Tensor(Protocol):
        #: where its numbers lie, until it is closed
        address: int

        def form(self) -> tuple[str, list[int]]: ...
        def close(self) -> None: ...

    class Session(Protocol):
        def run(self, batch: list[list[int]], types: list[list[int]] | None = None) -> "Output":
            """`types` says, for texts of two parts, which part each token belongs to."""

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
    if name == "torch":
        from coldpress_runtime.engines import torch

        return torch.Engine(libraries)
    raise LoadError(f"task.json names the engine {name!r}; this runtime has: press, onnxruntime, torch")
