"""LSTMs in int8: weights with a scale per channel, activations quantized as they come, by onnxruntime's quantizer.

Weights keep 7 bits, for the reason that int8_matmul.py gives.
"""

import onnx
from onnxruntime.quantization import QuantType, quantize_dynamic

from coldpress.optimize.rewrites import Context
from coldpress.optimize.rewrites.int8_conv import quiet


def apply(model: onnx.ModelProto, context: Context, setting: str) -> onnx.ModelProto:
    layers = [node.name for node in model.graph.node if node.op_type == "LSTM" and node.name not in context.keep]
    if not layers:
        return model
    before, after = context.work / "lstm.onnx", context.work / "lstm-int8.onnx"
    onnx.save(model, before)
    with quiet():
        quantize_dynamic(
            before,
            after,
            per_channel=True,
            reduce_range=True,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["LSTM"],
            nodes_to_quantize=layers,
        )
    return onnx.load(after)
