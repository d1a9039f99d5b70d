"""Tasks, as building sees them: the original model, what to ask it, and how to read an answer.

One file per task, named as its counterpart inside the function (`coldpress_runtime.tasks`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from coldpress.intake.source import Source
from coldpress_runtime.tasks import CLASSES

if TYPE_CHECKING:  # press needs no torch, and importing it takes two seconds
    import torch

__all__ = ["Answer", "Carried", "Feed", "Request", "Signature", "Task", "task_class", "task_of"]

#: what a function is asked, as it would arrive in an event
Request = dict[str, Any]
#: the numbers in an answer, in one or several parts, each of which must be right
Answer = tuple[NDArray[np.float32], ...]
#: what a graph reads, by name
Feed = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Signature:
    """How the original is called: what the exporter needs to know."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    example: "tuple[torch.Tensor, ...]"
    #: which axes of each input may have any size
    open_axes: tuple[tuple[int, ...], ...]
    #: the same as torch.export wants to hear it
    dynamic: tuple[Any, ...]


@dataclass(frozen=True)
class Carried:
    """What a function needs beside a graph: files, and what task.json says of them."""

    files: tuple[Path, ...]
    settings: dict[str, Any]
    tokenizer: str | None = None
    #: texts run together up to this many tokens: more gains no speed on a vCPU, only memory
    batch_tokens: int = 0


class Task(Protocol):
    #: libraries that the function needs beside its engine's
    native: tuple[str, ...]

    @property
    def source(self) -> Source: ...

    def original(self) -> "torch.nn.Module":
        """The model in fp32 with all that belongs to its answer: what is exported, and the truth."""

    def signature(self) -> Signature: ...

    def samples(self) -> list[Request]:
        """Built-in questions; none of them was used to calibrate."""

    @classmethod
    def asked(cls, spec: Mapping[str, Any]) -> list[Request]:
        """Questions of the same kind from a function's task.json alone, for whoever has nothing else."""

    def truth(self, requests: list[Request]) -> list[Answer]: ...

    def question(self, request: Request) -> Request:
        """A person's own request, asked so that the numbers behind the answer can be compared."""

    def read(self, answer: Any) -> Answer:
        """The function's answer to one request."""

    def timed(self) -> dict[str, Request]:
        """Requests worth timing, by a short name of their shape."""

    def calibration(self) -> list[Feed]: ...

    def probes(self) -> list[Feed]:
        """Inputs of the smallest and of the largest sizes that there can be; none where that is not known."""

    def carry(self, work: Path) -> Carried:
        """Write what the function carries beside a graph into `work`."""

    def spec(self) -> dict[str, Any]:
        """What task.json says of the task itself, whichever engine runs it."""

    def describe(self) -> dict[str, Any]:
        """`inputs` and `outputs` for people, in the manifest."""


def task_of(source: Source) -> Task:
    """The task that a source was found to have, from the file of its name."""
    made: Task = task_class(source.task)(source)
    return made


def task_class(name: str) -> Any:
    return getattr(import_module(f"coldpress.tasks.{name.replace('-', '_')}"), CLASSES[name])
