"""Tasks: what a model does for people. One file per task, each with its routes and its shapes."""

from coldpress_runtime.faults import LoadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from coldpress_runtime.model import Model

    Route = Callable[[object, int], str]

    class Task(Protocol):
        #: POST paths → what answers them: (the request's JSON, the most bytes to answer) → JSON text.
        routes: dict[str, Route]


def open_task(model: "Model") -> "Task":
    name = model.spec["task"]
    if name == "embeddings":
        from coldpress_runtime.tasks.embeddings import Embeddings

        return Embeddings(model)
    if name == "tensors":
        from coldpress_runtime.tasks.tensors import Tensors

        return Tensors(model)
    raise LoadError(f"task.json names the task {name!r}; this runtime has: embeddings, tensors")
