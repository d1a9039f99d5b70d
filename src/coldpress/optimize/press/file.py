"""Writing a press file: native/format.h in Python."""

import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

VERSION = 2
LAYOUT_PANELS = 1
BUFFERS = 16
TENSORS = 8
NO_BUFFER = 0xFFFFFFFF
ALIGNMENT = 64

EMBED, NORM, LINEAR, ATTEND, POOL, NORMALIZE, FLOAT_LINEAR, ROTATE, GATE, PATCHES = range(1, 11)
ACTIVATIONS = {"linear": 0, "gelu": 1, "relu": 2, "tanh": 3, "silu": 4, "gelu_tanh": 5}
#: how queries are compared with keys
COMPARE_BYTES = 1
POOLS = {"mean": 1, "cls": 2, "max": 3, "mean_sqrt_len_tokens": 4, "weightedmean": 5, "lasttoken": 6}

_HEADER = struct.Struct(f"<8sIIQQQQQ2QIIII{BUFFERS}I")
_OP = struct.Struct(f"<14IfI{TENSORS}Q")

Floats = NDArray[np.float32]
Tensor = NDArray[np.generic]


@dataclass
class Op:
    """One step of a model; format.h says what each kind reads and writes."""

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
    #: a token id that takes no position, or None
    padding: int | None = None
    types: int = 0
    window: int = 0
    column: int = 0
    epsilon: float = 0.0
    only: int = 0
    tensors: list[Tensor | None] = field(default_factory=list)

    def packed(self, places: list[int]) -> bytes:
        return _OP.pack(
            *(self.kind, self.activation, self.source, self.target, self.residual),
            *(self.inputs, self.outputs, self.heads, self.first_position, self.positions),
            *(0 if self.padding is None else self.padding + 1, self.types, self.window, self.column),
            *(self.epsilon, self.only),
            *(places + [0] * TENSORS)[:TENSORS],
        )


@dataclass
class PressFile:
    """A model while it is put together: its ops in order, and the buffers that they share."""

    max_tokens: int
    vocabulary: int = 0
    dimensions: int = 0
    widths: list[int] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    tokenizer: bytes = b""

    def buffer(self, width: int) -> int:
        """A new buffer of `width` floats per row."""
        self.widths.append(width)
        assert len(self.widths) <= BUFFERS
        return len(self.widths) - 1

    def write(self, path: Path) -> None:
        """Layers in their order, then the tokenizer, then what the first op looks up in."""
        ops_at = _aligned(_HEADER.size)
        data = bytearray(_aligned(ops_at + _OP.size * len(self.ops)))
        places: dict[int, list[int]] = {}
        once: dict[int, int] = {id(None): 0}  # families that share layers have their tensors here once
        for at, op in enumerate(self.ops):
            if at:
                for tensor in op.tensors:
                    if id(tensor) not in once:
                        once[id(tensor)] = _append(data, tensor)
                places[at] = [once[id(tensor)] for tensor in op.tensors]
        tokenizer_at = _append(data, np.frombuffer(self.tokenizer, np.uint8)) if self.tokenizer else 0
        table_at = _aligned(len(data))
        # Positions and scales are touched by every request, words hardly: they come last.
        words, *others = self.ops[0].tensors
        rest = [_append(data, tensor) for tensor in others]
        places[0] = [_append(data, words), *rest]
        packed = b"".join(op.packed(places[at]) for at, op in enumerate(self.ops))
        data[ops_at : ops_at + len(packed)] = packed
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
    """A layer from PyTorch's weight, outputs × inputs, in floats; outputs are filled up with zeros to sixteens."""
    outputs, inputs = weight.shape
    missing = -outputs % 16
    weight = np.pad(weight, ((0, missing), (0, 0)))
    full = np.zeros(outputs, np.float32) if bias is None else bias
    return Op(
        FLOAT_LINEAR,
        activation=ACTIVATIONS[activation],
        source=source,
        target=target,
        residual=residual,
        inputs=inputs,
        outputs=outputs + missing,
        tensors=[np.ascontiguousarray(weight.T), np.pad(full, (0, missing)).astype(np.float32)],
    )


def linear_shapes(path: Path) -> list[tuple[int, int]]:
    """Inputs and outputs of every int8 layer of a press file, as often as it is run."""
    data = path.read_bytes()
    header = _HEADER.unpack_from(data)
    ops_at, count = header[4], header[10]
    ops = [_OP.unpack_from(data, ops_at + at * _OP.size) for at in range(count)]
    return [(op[5], op[6]) for op in ops if op[0] == LINEAR]


def _append(data: bytearray, tensor: Tensor | None) -> int:
    if tensor is None:
        return 0
    data += bytes(-len(data) % ALIGNMENT)
    at = len(data)
    data += np.ascontiguousarray(tensor).tobytes()
    return at


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
