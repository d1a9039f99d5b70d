"""Matrix products in int8: weights with a scale per channel, activations quantized as they come.

Weights keep 7 bits. Kernels for x86 CPUs without VNNI add pairs of products in 16 bits, and with 8
the sum overflows and is silently cut off; Lambda's fleets have such CPUs. With 7 it cannot.
"""

import logging

import onnx
from onnxruntime.quantization import QuantType, quantize_dynamic

from coldpress.optimize.graph import linears
from coldpress.optimize.rewrites import Context


def apply(model: onnx.ModelProto, context: Context, setting: str) -> onnx.ModelProto:
    names = [node.name for node in linears(model) if node.name not in context.keep]
    if not names:  # the quantizer would take an empty list for all
        return model
    path = context.work / "int8.onnx"
    level = logging.root.level
    logging.root.setLevel(logging.ERROR)  # it logs its advice on the root logger
    try:
        quantize_dynamic(
            model,
            path,
            per_channel=True,
            reduce_range=True,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["MatMul"],
            nodes_to_quantize=names,
            extra_options={"MatMulConstBOnly": True},
        )
    finally:
        logging.root.setLevel(level)
    return onnx.load(path)
