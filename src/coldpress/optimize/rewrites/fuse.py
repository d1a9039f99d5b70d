"""ONNX Runtime's own fusions, written into the graph, so that no session has to find them again.

With the setting `basic` constants are folded and no more: quantizers look for weights, not for what makes them.
"""

import onnx
import onnxruntime

from coldpress.optimize.rewrites import Context


def apply(model: onnx.ModelProto, context: Context, setting: str) -> onnx.ModelProto:
    path = context.work / "fused.onnx"
    options = onnxruntime.SessionOptions()
    # Extended and no further: the level above writes memory layouts for this machine's CPU.
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = (
        levels.ORT_ENABLE_BASIC if setting == "basic" else levels.ORT_ENABLE_EXTENDED
    )
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return onnx.load(path)
