"""Move outliers from activations, which get one int8 scale per tensor, into weights, which get many.

For a layer x·W, dividing channel j of x by s_j and multiplying row j of W by s_j changes nothing;
choosing s_j between the sizes of both sides leaves each easier to quantize. This is SmoothQuant
(Xiao et al., 2022). What norms and GELUs write is worth it; other activations of all-MiniLM-L6-v2 gain nothing.
There it takes the drift from 0.133 to 0.094 for 3 % of the time.
"""

from collections import defaultdict

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from coldpress.optimize.graph import array, initializers, linears, replace_nodes
from coldpress.optimize.observe import run_to
from coldpress.optimize.rewrites import Context
from coldpress.tasks import Feed

#: what writes tensors that are worth it
WRITERS = ("LayerNormalization", "SimplifiedLayerNormalization", "RMSNormalization", "Gelu")
_TINY = 1e-5
_SPAN = 100.0  # no channel is moved further than this, whatever calibration saw


def apply(model: onnx.ModelProto, context: Context, setting: str) -> onnx.ModelProto:
    """`setting` 0 leaves activations alone, 1 makes all their channels equally large."""
    strength = float(setting)
    written = {node.output[0] for node in model.graph.node if node.op_type in WRITERS}
    readers: dict[str, list[onnx.NodeProto]] = defaultdict(list)
    for node in linears(model):
        if node.input[0] in written:
            readers[node.input[0]].append(node)
    if not readers:
        return model
    largest = _largest(model, list(readers), context.calibration)
    weights = initializers(model)
    before: dict[int, onnx.NodeProto] = {}
    for name, nodes in readers.items():
        tensors = [weights[node.input[1]] for node in nodes]
        rows = np.max([np.abs(array(tensor)).max(axis=1) for tensor in tensors], axis=0)
        scale = np.maximum(largest[name], _TINY) ** strength / np.maximum(rows, _TINY) ** (1 - strength)
        scale /= np.exp(np.log(scale).mean())
        scale = np.clip(scale, 1 / _SPAN, _SPAN).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(1 / scale, f"{name}.smoothing"))
        before[id(nodes[0])] = helper.make_node(
            "Mul", [name, f"{name}.smoothing"], [f"{name}.smooth"], name=f"{name}.smooth"
        )
        for node, tensor in zip(nodes, tensors, strict=True):
            tensor.CopyFrom(numpy_helper.from_array(array(tensor) * scale[:, None], tensor.name))
            node.input[0] = f"{name}.smooth"
    ordered = []
    for node in model.graph.node:
        if id(node) in before:
            ordered.append(before[id(node)])
        ordered.append(node)
    replace_nodes(model, [_copy(node) for node in ordered])
    return model


def _largest(model: onnx.ModelProto, names: list[str], calibration: list[Feed]) -> dict[str, NDArray[np.float32]]:
    """The largest magnitude of each channel of each tensor, over the calibration inputs."""
    largest: dict[str, NDArray[np.float32]] = {}
    for values in run_to(model, names, calibration):
        for name, value in zip(names, values, strict=True):
            peak = np.abs(value).reshape(-1, value.shape[-1]).max(axis=0)
            largest[name] = np.maximum(largest[name], peak) if name in largest else peak
    return largest


def _copy(node: onnx.NodeProto) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    return copy
