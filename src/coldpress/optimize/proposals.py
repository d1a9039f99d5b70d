"""Recipes worth trying on a graph, by what is in it."""

from collections.abc import Iterator
from dataclasses import replace
from math import ceil
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

SMOOTHING = "0.8"
#: shares of the convolutions and of the linear layers that are left in floats, tried in this order
SHARES = ((0.01, 0.01), (0.5, 0.1), (1.0, 0.1), (1.0, 0.3))


def graph_recipes(exported: Path, precision: str) -> Iterator[Recipe]:
    """The best known first; of fp16 only if it is asked for: it is smaller than fp32, never faster."""
    kinds = {node.op_type for node in onnx.load(exported, load_external_data=False).graph.node}
    # Gemm wants two axes; what attention writes when it is one node has three. So it is unfolded before.
    shared, fused = ("drop-zeros", "unfold-gemm", "fuse-attention"), ("fuse", "split-bias", "skip-norm")
    # A convolution wants its tensors in the CPU's own layout, which only the session can know.
    layout = ("layout",) if "Conv" in kinds else ()
    if precision in ("auto", "int8") and kinds & {"MatMul", "Gemm", "Conv", "LSTM"}:
        recurrent = ("fuse:basic", "int8-lstm") if "LSTM" in kinds else ()
        convolutions = ("int8-conv",) if "Conv" in kinds else ()
        linear = (f"smooth:{SMOOTHING}", "int8-matmul", "int8-embeddings")
        quantized = (*linear, *recurrent, *convolutions)
        yield Recipe("onnxruntime", "int8", (*shared, *quantized, *fused, "fast-gelu", *layout))
    if precision in ("auto", "fp32"):
        yield Recipe("onnxruntime", "fp32", (*shared, *fused, *layout))
    if precision == "fp16":
        yield Recipe("onnxruntime", "fp16", (*shared, *fused, "half", *layout))


def gentler_recipes(recipe: Recipe, exported: Path, calibration: list[Feed]) -> Iterator[Recipe]:
    """The same with more and more layers left alone: of linear ones those that suffer most, of convolutions the
    first ones, for what they round away no later one brings back."""
    model = unfold_gemm(onnx.load(exported))
    convolutions = [node.name for node in model.graph.node if node.op_type == "Conv"]
    ranked = _by_damage(model, calibration)
    seen = {(): recipe}
    for of_convolutions, of_linears in SHARES if convolutions else SHARES[-2:]:
        kept = convolutions[: ceil(of_convolutions * len(convolutions))] + ranked[: ceil(of_linears * len(ranked))]
        names = tuple(sorted(kept))
        if names not in seen and len(names) < len(convolutions) + len(ranked):
            seen[names] = replace(recipe, keep=names)
            yield seen[names]


def _by_damage(model: onnx.ModelProto, calibration: list[Feed]) -> list[str]:
    """The layers' names, those first whose answers move most when both sides are rounded to int8."""
    nodes = list(linears(model))
    if not nodes:
        return []
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
