"""Writing a press file: native/format.h in Python."""

import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

VERSION = 1
LAYOUT_PANELS = 1
BUFFERS = 8
TENSORS = 6
NO_BUFFER = 0xFFFFFFFF
ALIGNMENT = 64
PANEL = 16

EMBED, NORM, LINEAR, ATTEND, POOL, NORMALIZE = range(1, 7)
ACTIVATIONS = {"linear": 0, "gelu": 1, "relu": 2, "tanh": 3, "silu": 4, "gelu_tanh": 5}
POOLS = {"none": 0, "mean": 1, "cls": 2, "max": 3, "mean_sqrt_len_tokens": 4, "weightedmean": 5, "lasttoken": 6}

_HEADER = struct.Struct(f"<8sIIQQQQQ2QIIII{BUFFERS}I")
_OP = struct.Struct(f"<IIIIIIIIIIfI{TENSORS}Q")

Floats = NDArray[np.float32]


@dataclass
class Op:
    kind: int
    activation: int = 0
    source: int = NO_BUFFER
    target: int = NO_BUFFER
    residual: int = NO_BUFFER
    inputs: int = 0
    outputs: int = 0
    heads: int = 0
    first_position: int = 0
    positions: int = 0
    epsilon: float = 0.0
    #: a token id that takes no position, or None
    padding: int | None = None
    tensors: list[NDArray[np.generic] | None] = field(default_factory=list)


@dataclass
class PressFile:
    dimensions: int
    max_tokens: int
    vocabulary: int
    widths: list[int]
    ops: list[Op]
    tokenizer: bytes = b""

    def write(self, path: Path) -> None:
        """Layers in their order, then the tokenizer, then what the first op looks up in."""
        ops_at = _aligned(_HEADER.size)
        data = bytearray(_aligned(ops_at + _OP.size * len(self.ops)))
        places: dict[int, list[int]] = {}
        once: dict[int, int] = {}  # families that share layers have their tensors here once
        for at, op in enumerate(self.ops):
            if op.kind != EMBED:
                for tensor in op.tensors:
                    if id(tensor) not in once:
                        once[id(tensor)] = _append(data, tensor)
                places[at] = [once[id(tensor)] for tensor in op.tensors]
        tokenizer_at = _append(data, np.frombuffer(self.tokenizer, np.uint8)) if self.tokenizer else 0
        table_at = _aligned(len(data))
        for at, op in enumerate(self.ops):
            if op.kind == EMBED:
                # Positions and scales are touched by every request, words hardly: they come last.
                words, *others = op.tensors
                rest = [_append(data, tensor) for tensor in others]
                places[at] = [_append(data, words), *rest]
        for at, op in enumerate(self.ops):
            tensors = (places[at] + [0] * TENSORS)[:TENSORS]
            _OP.pack_into(
                data,
                ops_at + at * _OP.size,
                op.kind,
                op.activation,
                op.source,
                op.target,
                op.residual,
                op.inputs,
                op.outputs,
                op.heads,
                op.first_position,
                op.positions,
                op.epsilon,
                0 if op.padding is None else op.padding + 1,
                *tensors,
            )
        widths = (self.widths + [0] * BUFFERS)[:BUFFERS]
        numbers = (len(self.ops), self.dimensions, self.max_tokens, self.vocabulary)
        offsets = (len(data), ops_at, tokenizer_at, len(self.tokenizer), table_at, 0, 0)
        _HEADER.pack_into(data, 0, b"coldpres", VERSION, LAYOUT_PANELS, *offsets, *numbers, *widths)
        path.write_bytes(data)


def linear(
    weight: Floats,
    bias: Floats | None,
    *,
    source: int,
    target: int,
    activation: str = "linear",
    residual: int = NO_BUFFER,
) -> Op:
    """A quantized layer from PyTorch's weight, outputs × inputs, with one scale per output."""
    outputs, inputs = weight.shape
    scale = np.abs(weight).max(axis=1) / np.float32(127)
    scale[scale == 0] = 1
    rounded = np.clip(np.rint(weight / scale[:, None]), -127, 127).astype(np.int8)
    # Panels of sixteen outputs, and in each, four inputs of an output side by side.
    panels = rounded.reshape(outputs // PANEL, PANEL, inputs // 4, 4).transpose(0, 2, 1, 3)
    return Op(
        LINEAR,
        activation=ACTIVATIONS[activation],
        source=source,
        target=target,
        residual=residual,
        inputs=inputs,
        outputs=outputs,
        tensors=[
            np.ascontiguousarray(panels),
            scale.astype(np.float32),
            np.zeros(outputs, np.float32) if bias is None else bias.astype(np.float32),
            rounded.sum(axis=1, dtype=np.int32),
        ],
    )


def rows(table: Floats) -> tuple[NDArray[np.int8], Floats]:
    """An embedding table in int8 with one scale per row."""
    scale = np.abs(table).max(axis=1) / np.float32(127)
    scale[scale == 0] = 1
    rounded = np.clip(np.rint(table / scale[:, None]), -127, 127).astype(np.int8)
    return rounded, scale.astype(np.float32)


def _append(data: bytearray, tensor: NDArray[np.generic] | None) -> int:
    if tensor is None:
        return 0
    data += bytes(-len(data) % ALIGNMENT)
    at = len(data)
    data += np.ascontiguousarray(tensor).tobytes()
    return at


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
