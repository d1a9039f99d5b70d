"""What flows through a graph on sample inputs."""

from collections.abc import Iterable

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import helper

from coldpress.tasks import Feed


def run_to(model: onnx.ModelProto, names: list[str], feeds: Iterable[Feed]) -> Iterable[list[NDArray[np.float32]]]:
    """The tensors `names` inside the graph, for each of `feeds`."""
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    known = {output.name for output in probe.graph.output}
    probe.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names if name not in known)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(probe.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for feed in feeds:
        yield session.run(names, feed)


def observe(
    model: onnx.ModelProto, names: Iterable[str], feeds: list[Feed], most_rows: int
) -> dict[str, NDArray[np.float32]]:
    """Rows along the last axis of the tensors `names`, evenly from all feeds, at most `most_rows` of each."""
    ordered = sorted(names)
    rows: dict[str, list[NDArray[np.float32]]] = {name: [] for name in ordered}
    for values in run_to(model, ordered, feeds):
        for name, value in zip(ordered, values, strict=True):
            flat = value.reshape(-1, value.shape[-1])
            step = -(-len(flat) * len(feeds) // most_rows)
            rows[name].append(flat[:: max(1, step)])
    return {name: np.concatenate(parts) for name, parts in rows.items()}
