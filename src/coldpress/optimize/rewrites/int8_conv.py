"""Convolutions in int8: weights with a scale per channel, activations with a range that calibration found.

Weights keep 7 bits, for the reason that int8_matmul.py gives. On a ResNet-18 this takes two thirds of the time.
Ranges do not come with the request, as those of linear layers do: ONNX Runtime has no fast kernel that quantizes
what a convolution reads as it comes.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import onnx
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from coldpress.optimize.rewrites import Context
from coldpress.tasks import Feed


def apply(model: onnx.ModelProto, context: Context, setting: str) -> onnx.ModelProto:
    layers = [node.name for node in model.graph.node if node.op_type == "Conv" and node.name not in context.keep]
    if not layers:
        return model
    before, after = context.work / "float.onnx", context.work / "int8.onnx"
    onnx.save(model, before)
    with quiet():
        quantize_static(
            before,
            after,
            _Reader(context.calibration),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            reduce_range=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["Conv"],
            nodes_to_quantize=layers,
        )
    return onnx.load(after)


class _Reader(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime is untyped
    def __init__(self, feeds: list[Feed]) -> None:
        self._feeds = iter(feeds)

    def get_next(self) -> Feed | None:
        return next(self._feeds, None)


@contextmanager
def quiet() -> Iterator[None]:
    """Its advice goes to the root logger, and is meant for whoever calls it by hand."""
    level = logging.root.level
    logging.root.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logging.root.setLevel(level)
