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


#: what task.json calls a task → its class, in the file of that name
CLASSES = {
    "audio-classification": "AudioClassification",
    "custom": "Custom",
    "embeddings": "Embeddings",
    "fill-mask": "FillMask",
    "image-classification": "ImageClassification",
    "image-embeddings": "ImageEmbeddings",
    "question-answering": "QuestionAnswering",
    "reranking": "Reranking",
    "tensors": "Tensors",
    "text-classification": "TextClassification",
    "token-classification": "TokenClassification",
}


def open_task(model: "Model") -> "Task":
    """Only the task that a function has is imported."""
    name = model.spec["task"]
    if name not in CLASSES:
        raise LoadError(f"task.json names the task {name!r}; this runtime has: {', '.join(CLASSES)}")
    package = f"coldpress_runtime.tasks.{name.replace('-', '_')}"
    module = __import__(package, fromlist=[CLASSES[name]])
    task: Task = getattr(module, CLASSES[name])(model)
    return task
