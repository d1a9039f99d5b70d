"""LayerNormalization of a sum as one node, also where one side of the sum is the same for the whole batch.

ONNX Runtime fuses sums of equal shapes by itself; the one of an embedding and its positions it leaves alone, and
its plain LayerNormalization takes four times as long as the fused one: 2 % of all-MiniLM-L6-v2.
"""

from typing import Any

import onnx
from onnx import helper

from coldpress.optimize.graph import reads, replace_nodes
from coldpress.optimize.rewrites import Context

_AXES = 3


def apply(model: onnx.ModelProto, context: Context, setting: str) -> onnx.ModelProto:
    shapes = {one.name: one.type.tensor_type.shape.dim for one in model.graph.value_info}
    readers = reads(model.graph.node)
    sums = {node.output[0]: node for node in model.graph.node if node.op_type == "Add"}
    nodes = []
    gone: set[str] = set()
    for node in model.graph.node:
        add = sums.get(node.input[0]) if node.op_type == "LayerNormalization" else None
        sides = _whole_and_skip(add, shapes) if add is not None and readers[add.output[0]] == 1 else None
        if sides is None or len(node.input) < 3 or len(node.output) > 1 or not _last_axis(node):
            nodes.append(node)
            continue
        gone.add(node.input[0])
        epsilon = next((one.f for one in node.attribute if one.name == "epsilon"), 1e-5)
        nodes.append(
            helper.make_node(
                "SkipLayerNormalization",
                [*sides, *node.input[1:3]],
                [node.output[0]],
                name=node.name,
                domain="com.microsoft",
                epsilon=epsilon,
            )
        )
    replace_nodes(model, [node for node in nodes if node.output[0] not in gone])
    return model


def _whole_and_skip(add: onnx.NodeProto, shapes: dict[str, Any]) -> tuple[str, str] | None:
    """The side with all axes, and the one that repeats along the batch; None for any other sum."""
    first, second = ([(dim.dim_value, dim.dim_param) for dim in shapes.get(name, [])] for name in add.input)
    if len(first) != _AXES or len(second) != _AXES or first[1:] != second[1:]:
        return None
    if first[0] == second[0] or second[0][0] == 1:
        return add.input[0], add.input[1]
    return (add.input[1], add.input[0]) if first[0][0] == 1 else None


def _last_axis(node: onnx.NodeProto) -> bool:
    return next((one.i for one in node.attribute if one.name == "axis"), -1) in (-1, _AXES - 1)
