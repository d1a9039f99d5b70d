"""Gemm as MatMul and Add: the form that all rewrites of linear layers look for.

The exporter writes a layer on a matrix as Gemm and one on more axes as MatMul. They are the same
layer, and only the latter has a form in int8 whose activations are quantized as they come.
"""

import numpy as np
import onnx
from onnx import helper, numpy_helper

from coldpress.optimize.graph import array, initializers, reads, replace_initializers, replace_nodes
from coldpress.optimize.rewrites import Context


def apply(model: onnx.ModelProto, context: Context, setting: str) -> onnx.ModelProto:
    return unfold_gemm(model)


def unfold_gemm(model: onnx.ModelProto) -> onnx.ModelProto:
    tensors = initializers(model)
    nodes: list[onnx.NodeProto] = []
    turned: set[str] = set()
    for node in model.graph.node:
        options = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
        plain = options.get("alpha", 1.0) == 1.0 == options.get("beta", 1.0) and not options.get("transA", 0)
        if node.op_type != "Gemm" or not plain or node.input[1] not in tensors:
            nodes.append(node)
            continue
        weight = node.input[1]
        if options.get("transB", 0):
            weight = f"{weight}.turned"
            if weight not in turned:
                turned.add(weight)
                model.graph.initializer.append(
                    numpy_helper.from_array(np.ascontiguousarray(array(tensors[node.input[1]]).T), weight)
                )
        bias = node.input[2] if len(node.input) > 2 else ""
        product = f"{node.output[0]}.product" if bias else node.output[0]
        nodes.append(helper.make_node("MatMul", [node.input[0], weight], [product], name=node.name))
        if bias:
            nodes.append(helper.make_node("Add", [product, bias], [node.output[0]], name=f"{node.name}.bias"))
    replace_nodes(model, nodes)
    still_read = reads(nodes)
    kept = [tensor for tensor in model.graph.initializer if tensor.name in still_read]
    replace_initializers(model, kept)
    return model
