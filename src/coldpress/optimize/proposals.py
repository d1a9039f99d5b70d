"""Recipes worth trying on a graph, by what is in it."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import helper

from coldpress.optimize.graph import array, initializers, linears
from coldpress.optimize.recipe import Recipe
from coldpress.optimize.rewrites.unfold_gemm import unfold_gemm
from coldpress.tasks import Feed

SMOOTHING = "0.6"
#: shares of the layers that are left in floats, tried in this order
SHARES = (0.1, 0.3)


def graph_recipes(exported: Path, precision: str) -> Iterator[Recipe]:
    """The best known first; of fp16 only if it is asked for: it is smaller than fp32, never faster."""
    graph = onnx.load(exported, load_external_data=False).graph
    kinds = {node.op_type for node in graph.node}
    # A convolution wants its tensors in the CPU's own layout, which only the session can know.
    layout = ("layout",) if "Conv" in kinds else ()
    if precision in ("auto", "int8") and kinds & {"MatMul", "Gemm"}:
        yield Recipe(
            "onnxruntime",
            "int8",
            ("unfold-gemm", f"smooth:{SMOOTHING}", "int8-matmul", "int8-embeddings", "fuse", *layout),
        )
    if precision in ("auto", "fp32"):
        yield Recipe("onnxruntime", "fp32", ("fuse", *layout))
    if precision == "fp16":
        yield Recipe("onnxruntime", "fp16", ("fuse", "half", *layout))


def with_layers_kept(recipe: Recipe, exported: Path, calibration: list[Feed]) -> Iterator[Recipe]:
    ranked = _by_damage(unfold_gemm(onnx.load(exported)), calibration)
    for share in SHARES:
        kept = ranked[: max(1, round(share * len(ranked)))]
        if len(kept) < len(ranked):
            yield Recipe(recipe.engine, recipe.precision, recipe.rewrites, tuple(sorted(kept)))


def _by_damage(model: onnx.ModelProto, calibration: list[Feed]) -> list[str]:
    """The layers' names, those first whose answers move most when both sides are rounded to int8."""
    nodes = list(linears(model))
    weights = initializers(model)
    names = sorted({node.input[0] for node in nodes})
    model.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    error: dict[str, float] = {node.name: 0.0 for node in nodes}
    for feed in calibration[:8]:
        read = dict(zip(names, session.run(names, feed), strict=True))
        for node in nodes:
            weight = array(weights[node.input[1]])
            rows = read[node.input[0]].reshape(-1, weight.shape[0])
            right = rows @ weight
            moved = _rounded(rows, None, 255) @ _rounded(weight, 0, 127)
            error[node.name] += float(np.linalg.norm(moved - right) / max(float(np.linalg.norm(right)), 1e-12))
    return sorted(error, key=lambda name: (-error[name], name))


def _rounded(values: NDArray[np.float32], axis: int | None, steps: int) -> NDArray[np.float32]:
    """As int8 would hold them, with one scale, or one for each slice along `axis`."""
    span = np.maximum(np.ptp(values) if axis is None else 2 * np.abs(values).max(axis=axis, keepdims=True), 1e-12)
    scale = span / steps
    rounded: NDArray[np.float32] = (np.rint(values / scale) * scale).astype(np.float32)
    return rounded
