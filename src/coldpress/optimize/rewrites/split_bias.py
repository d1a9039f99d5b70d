"""Biases out of the fused nodes that are slow with them.

ONNX Runtime's BiasGelu takes nearly twice as long as Add and Gelu, and SkipLayerNormalization three times as
long with a bias as after an Add: together some 5 % of all-MiniLM-L6-v2 in fp32.
"""

import onnx
from onnx import helper

from coldpress.optimize.graph import replace_nodes
from coldpress.optimize.rewrites import Context

_BIAS_OF_NORM = 4


def apply(model: onnx.ModelProto, context: Context, setting: str) -> onnx.ModelProto:
    nodes = []
    for node in model.graph.node:
        bias = _bias(node)
        if bias:
            biased = f"{node.output[0]}.biased"
            nodes.append(helper.make_node("Add", [node.input[0], bias], [biased], name=biased))
            if node.op_type == "BiasGelu":
                node.op_type = "Gelu"
                del node.input[:]
                node.input.append(biased)
            else:
                node.input[0] = biased
                del node.input[_BIAS_OF_NORM:]
        nodes.append(node)
    replace_nodes(model, nodes)
    return model


def _bias(node: onnx.NodeProto) -> str:
    if node.op_type == "BiasGelu":
        return str(node.input[1])
    if node.op_type == "SkipLayerNormalization" and len(node.input) > _BIAS_OF_NORM:
        return str(node.input[_BIAS_OF_NORM])
    return ""
