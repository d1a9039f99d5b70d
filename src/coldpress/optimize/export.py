"""PyTorch → ONNX, with the axes left open that may vary."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import onnx
import torch

from coldpress.errors import ExportError
from coldpress.progress import Say
from coldpress.tasks import Task

LEGACY_OPSET = 17


def export(task: Task, path: Path, say: Say) -> None:
    """Write the original as a graph to `path`. What the exporter refuses, the tracer before it is asked for."""
    ready = getattr(task.source, "graph", None)
    if ready is not None:
        onnx.save(onnx.load(ready), path)
        return
    say(f"exporting {task.source.architecture} with PyTorch")
    try:
        _dynamo(task, path)
    except Exception as refused:  # noqa: BLE001 - it fails in as many ways as there are models
        say(f"exporting {task.source.architecture} by tracing: {_first_line(refused)}")
        try:
            _trace(task, path)
        except Exception as error:
            raise ExportError(
                f"PyTorch could not export {task.source.origin} ({task.source.architecture}): "
                f"{_first_line(refused)}; nor by tracing: {_first_line(error)}. "
                "It can still be served as it is: --engine torch"
            ) from error


def _dynamo(task: Task, path: Path) -> None:
    signature = task.signature()
    with _quiet():
        torch.onnx.export(
            task.original(),
            signature.example,
            path,
            dynamo=True,
            input_names=signature.inputs,
            output_names=signature.outputs,
            dynamic_shapes=signature.dynamic,
            external_data=False,
            verbose=False,
        )
    onnx.checker.check_model(path)


def _trace(task: Task, path: Path) -> None:
    signature = task.signature()
    with _quiet(), torch.inference_mode():
        torch.onnx.export(
            task.original(),
            signature.example,
            str(path),
            dynamo=False,
            input_names=signature.inputs,
            output_names=signature.outputs,
            dynamic_axes={
                name: {axis: f"{name}_{axis}" for axis in axes}
                for name, axes in zip(signature.inputs, signature.open_axes, strict=True)
            },
            opset_version=LEGACY_OPSET,
            do_constant_folding=True,
        )
    onnx.checker.check_model(path)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the exporters' own remarks, which are meant for their developers."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _first_line(error: BaseException) -> str:
    text = str(error.__cause__ or error).strip()
    return text.splitlines()[0] if text else type(error).__name__
