"""Weights stored in half precision and computed in fp32: CPUs gain nothing from half arithmetic.

A cast stands behind every stored weight. ONNX Runtime folds it when the session opens, once; an
embedding table stays halved for good, since only the rows that are looked up are cast.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from coldpress.optimize.graph import array, initializers, replace_initializers, replace_nodes
from coldpress.optimize.rewrites import Context

FEWEST_VALUES = 1024
LARGEST_HALF = 65504.0


def apply(model: onnx.ModelProto, context: Context, setting: str) -> onnx.ModelProto:
    tensors = initializers(model)
    halved = {name for name, tensor in tensors.items() if _worth_halving(tensor)}
    nodes: list[onnx.NodeProto] = []
    cast: set[str] = set()
    for node in model.graph.node:
        if node.op_type == "Gather" and node.input[0] in halved:
            lookup = helper.make_node(
                "Gather", [f"{node.input[0]}.half", node.input[1]], [f"{node.output[0]}.half"]
            )
            lookup.attribute.extend(node.attribute)
            back = helper.make_node("Cast", [f"{node.output[0]}.half"], [node.output[0]], to=TensorProto.FLOAT)
            nodes += [lookup, back]
            continue
        for name in node.input:
            if name in halved and name not in cast:
                cast.add(name)
                nodes.append(helper.make_node("Cast", [f"{name}.half"], [name], to=TensorProto.FLOAT))
        nodes.append(node)
    replace_nodes(model, nodes)
    replace_initializers(
        model,
        [
            numpy_helper.from_array(array(tensor).astype(np.float16), f"{name}.half") if name in halved else tensor
            for name, tensor in tensors.items()
        ],
    )
    return model


def _worth_halving(tensor: onnx.TensorProto) -> bool:
    if tensor.data_type != TensorProto.FLOAT or int(np.prod(tensor.dims)) < FEWEST_VALUES:
        return False
    return bool(np.abs(array(tensor)).max() <= LARGEST_HALF)
