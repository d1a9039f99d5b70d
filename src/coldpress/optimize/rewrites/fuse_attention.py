"""Attention as one node: transposes, scores, softmax and their sum in one kernel, whose scores stay in the cache.

The patterns are onnxscript's. Projections and their biases stay outside, where int8 can have them. On
all-MiniLM-L6-v2 in int8 this takes 3 to 6 % of the time, and a third of the nodes that a session has to open.
"""

import onnx
import onnx_ir
from onnx_ir.passes.common import ShapeInferencePass
from onnxscript import optimizer
from onnxscript.rewriter.ort_fusions import mha, mha_scale, sdpa

from coldpress.optimize.rewrites import Context


def apply(model: onnx.ModelProto, context: Context, setting: str) -> onnx.ModelProto:
    graph = onnx_ir.from_proto(model)
    optimizer.optimize(graph)
    ShapeInferencePass()(graph)
    found = sdpa.fuse_sdpa(graph, apply_shape_inference=True)
    fused = mha.fuse_mha1(graph) + mha.fuse_mha2(graph)
    mha_scale.fuse_mha_scale(graph)
    if not found or found != fused:  # what was found and cannot be fused would be left as a function
        return model
    optimizer.optimize(graph)
    changed: onnx.ModelProto = onnx_ir.to_proto(graph)
    return changed
