"""Looking at an ONNX graph: the few questions that several rewrites ask."""

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper


def initializers(model: onnx.ModelProto) -> dict[str, onnx.TensorProto]:
    return {tensor.name: tensor for tensor in model.graph.initializer}


def array(tensor: onnx.TensorProto) -> NDArray[np.float32]:
    values: NDArray[np.float32] = numpy_helper.to_array(tensor)
    return values


def linears(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Matrix products with a constant two-dimensional float right side: the layers worth quantizing."""
    known = initializers(model)
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1] in known:
            weight = known[node.input[1]]
            if weight.data_type == onnx.TensorProto.FLOAT and len(weight.dims) == 2:
                yield node


def reads(nodes: Iterable[onnx.NodeProto]) -> Counter[str]:
    """How often each name is read, also by graphs inside of nodes: a branch may read what stands around it."""
    found: Counter[str] = Counter()
    for node in nodes:
        found.update(node.input)
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                found.update(reads(inner.node))
                found.update(output.name for output in inner.output)
    return found


def replace_nodes(model: onnx.ModelProto, nodes: list[onnx.NodeProto]) -> None:
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def replace_initializers(model: onnx.ModelProto, tensors: list[onnx.TensorProto]) -> None:
    del model.graph.initializer[:]
    model.graph.initializer.extend(tensors)
