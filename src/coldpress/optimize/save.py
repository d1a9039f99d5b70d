"""The two files that a function carries of a graph.

`model.onnx` holds the graph, `weights.bin` the weights: contiguous, aligned to pages, and mapped by
the session instead of being read and copied. ONNX Runtime's own flat format opens no sooner, its
bytes differ from one save to the next, and the process keeps 10 MB more of it in memory.
"""

from pathlib import Path

import onnx
from onnx import numpy_helper

from coldpress.optimize.graph import replace_initializers

GRAPH = "model.onnx"
WEIGHTS = "weights.bin"
_PAGE = 4096
_SMALL = 64 * 1024  # a tensor below this stays in the graph: mapping it would cost more than reading it


def save(model: onnx.ModelProto, folder: Path) -> tuple[Path, Path]:
    """Write the graph and its weights into `folder`; the same bytes for the same graph."""
    packed = bytearray()
    tensors = [_outside(tensor, packed) for tensor in sorted(model.graph.initializer, key=_by_name)]
    replace_initializers(model, tensors)
    # Shapes that are written down need not be inferred: 7 ms of a session's start.
    shapes = sorted(model.graph.value_info, key=_by_name)
    del model.graph.value_info[:]
    model.graph.value_info.extend(shapes)
    (folder / WEIGHTS).write_bytes(packed)
    (folder / GRAPH).write_bytes(model.SerializeToString(deterministic=True))
    return folder / GRAPH, folder / WEIGHTS


def _outside(tensor: onnx.TensorProto, packed: bytearray) -> onnx.TensorProto:
    """A tensor whose values lie at the end of `packed`, or itself when it is small."""
    data = numpy_helper.to_array(tensor).tobytes()
    if len(data) < _SMALL:
        return tensor
    packed += bytes(-len(packed) % _PAGE)
    moved = onnx.TensorProto(
        name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, data_location=onnx.TensorProto.EXTERNAL
    )
    for key, value in (("location", WEIGHTS), ("offset", len(packed)), ("length", len(data))):
        moved.external_data.add(key=key, value=str(value))
    packed += data
    return moved


def _by_name(thing: onnx.TensorProto | onnx.ValueInfoProto) -> str:
    return str(thing.name)
