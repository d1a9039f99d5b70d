"""Embedding tables in int8, a scale per row: a quarter of the bytes, and a lookup stays a lookup."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from coldpress.optimize.graph import array, initializers, reads, replace_initializers, replace_nodes
from coldpress.optimize.rewrites import Context
from coldpress.optimize.rounding import coarse

FEWEST_ROWS = 256  # a smaller table is not worth the extra lookup of its scales


def apply(model: onnx.ModelProto, context: Context, setting: str) -> onnx.ModelProto:
    tables = initializers(model)
    added: dict[str, tuple[onnx.TensorProto, onnx.TensorProto]] = {}
    nodes: list[onnx.NodeProto] = []
    for node in model.graph.node:
        if not _is_lookup(node, tables):
            nodes.append(node)
            continue
        table, ids, out = node.input[0], node.input[1], node.output[0]
        if table not in added:
            added[table] = _rows(tables[table])
        nodes += [
            helper.make_node("Gather", [f"{table}.int8", ids], [f"{out}.int8"]),
            helper.make_node("Cast", [f"{out}.int8"], [f"{out}.cast"], to=TensorProto.FLOAT),
            helper.make_node("Gather", [f"{table}.scale", ids], [f"{out}.scale"]),
            helper.make_node("Mul", [f"{out}.cast", f"{out}.scale"], [out]),
        ]
    still_read = reads(nodes)
    kept = [tensor for name, tensor in tables.items() if name not in added or name in still_read]
    replace_nodes(model, nodes)
    replace_initializers(model, kept + [tensor for pair in added.values() for tensor in pair])
    return model


def _is_lookup(node: onnx.NodeProto, tables: dict[str, onnx.TensorProto]) -> bool:
    if node.op_type != "Gather" or any(attribute.name == "axis" and attribute.i for attribute in node.attribute):
        return False
    table = tables.get(node.input[0])
    return (
        table is not None
        and table.data_type == TensorProto.FLOAT
        and len(table.dims) == 2
        and table.dims[0] >= FEWEST_ROWS
    )


def _rows(table: onnx.TensorProto) -> tuple[onnx.TensorProto, onnx.TensorProto]:
    values = array(table)
    scale = np.abs(values).max(axis=1, keepdims=True) / 127
    scale[scale == 0] = 1
    scale = coarse(scale)
    rounded = np.clip(np.rint(values / scale), -127, 127).astype(np.int8)
    return (
        numpy_helper.from_array(rounded, f"{table.name}.int8"),
        numpy_helper.from_array(scale, f"{table.name}.scale"),
    )
