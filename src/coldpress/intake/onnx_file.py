"""A graph that somebody exported already (.onnx). Its answers, as onnxruntime gives them, are the truth."""

import os
from pathlib import Path
from typing import Any

from coldpress.errors import IntakeError, UnsupportedModel
from coldpress.intake.folder import function_name
from coldpress.intake.live import dynamic_axes
from coldpress.intake.source import LiveModule, Options

#: for axes that may have any size, where nobody gave an example
USUAL = 8


def describe_onnx(path: Path, options: Options) -> LiveModule:
    import onnx

    try:
        model = onnx.load(path, load_external_data=False)
    except Exception as error:
        raise IntakeError(f"{path} cannot be read as ONNX: {type(error).__name__}: {error}") from error
    _confined(path, model)
    try:
        onnx.checker.check_model(path)
    except Exception as error:
        raise IntakeError(f"{path} is no valid graph: {str(error).strip().splitlines()[0]}") from error
    from coldpress.tasks.graph import GraphModule

    module = GraphModule(path)
    example, dynamic = _example(model, module.names)
    if options.inputs is not None:
        given = (
            options.inputs
            if isinstance(options.inputs, dict)
            else dict(zip(module.names, _listed(options.inputs), strict=False))
        )
        if given.keys() != set(module.names):
            raise UnsupportedModel(f"{path} takes {', '.join(module.names)}; the example has {', '.join(given)}")
        example = given
    return LiveModule(
        name=function_name(options.name, path.stem),
        origin=path.name,
        kind="onnx graph",
        task="tensors",
        architecture=model.producer_name or "graph",
        weights_bytes=sum(file.stat().st_size for file in (path, *_external(path, model))),
        files={},
        module=module,
        example=example,
        dynamic=dynamic if options.dynamic is None else dynamic_axes(example, options.dynamic),
        graph=path,
    )


def _listed(inputs: Any) -> list[Any]:
    return list(inputs) if isinstance(inputs, tuple | list) else [inputs]


def _external(path: Path, model: Any) -> set[Path]:
    """Files beside the graph that hold its weights."""
    found: set[Path] = set()
    for tensor in _tensors(model.graph):
        for entry in tensor.external_data:
            if entry.key == "location":
                found.add(path.parent / entry.value)
    return found


def _tensors(graph: Any) -> Any:
    """Every tensor of a graph, also of those inside its nodes."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            yield attribute.t
            yield from attribute.tensors
            for inner in (attribute.g, *attribute.graphs):
                yield from _tensors(inner)


def _confined(path: Path, model: Any) -> None:
    """External data lies in the graph's own folder, or is refused: absolute, above it, or by a link."""
    folder = path.parent.resolve()
    for file in _external(path, model):
        named = os.path.relpath(file, path.parent)
        if not file.resolve().is_relative_to(folder) or file.is_symlink():
            raise UnsupportedModel(f"{path} has its weights in {named!r}, outside of its own folder: refused")
        if not file.is_file():
            raise IntakeError(f"{path} has its weights in {named!r}, which is not there")


def _example(model: Any, names: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, tuple[int, ...]]]:
    """Inputs made up from what the graph says of them, and the axes that it leaves open."""
    import onnx
    import torch

    example: dict[str, Any] = {}
    dynamic: dict[str, tuple[int, ...]] = {}
    for value in model.graph.input:
        if value.name not in names:
            continue
        kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        dims = value.type.tensor_type.shape.dim
        open_axes = tuple(axis for axis, dim in enumerate(dims) if not dim.dim_value)
        shape = [dim.dim_value or (1 if axis == 0 else USUAL) for axis, dim in enumerate(dims)]
        dtype = getattr(torch, kind.name, None)
        if dtype is None:
            raise UnsupportedModel(f"the input {value.name!r} is a tensor of {kind.name}")
        floats = dtype.is_floating_point
        example[value.name] = torch.randn(shape).to(dtype) if floats else torch.ones(shape, dtype=dtype)
        dynamic[value.name] = open_axes
    return example, dynamic
