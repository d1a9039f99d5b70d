"""Each rewrite alone: what must not move does not, and what it is for happens."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray

from coldpress.intake import Options
from coldpress.intake.folder import describe_folder
from coldpress.optimize.export import export
from coldpress.optimize.graph import initializers, linears
from coldpress.optimize.rewrites import Context, find_rewrite
from coldpress.tasks import Feed
from coldpress.tasks.embeddings import Embeddings


@pytest.fixture(scope="module")
def task(tiny_folder: Path) -> Embeddings:
    return Embeddings(describe_folder(tiny_folder, "tiny", Options()))


@pytest.fixture(scope="module")
def exported(task: Embeddings, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("export") / "exported.onnx"
    export(task, path, lambda text: None)
    return path.read_bytes()


@pytest.fixture
def model(exported: bytes) -> onnx.ModelProto:
    return onnx.load_from_string(exported)


@pytest.fixture(scope="module")
def inputs(task: Embeddings) -> list[Feed]:
    return task.calibration()


@pytest.fixture
def context(inputs: list[Feed], tmp_path: Path) -> Context:
    return Context(lambda: inputs, tmp_path)


def rewritten(model: onnx.ModelProto, context: Context, *steps: str) -> onnx.ModelProto:
    """A copy of `model` after these rewrites."""
    changed = onnx.load_from_string(model.SerializeToString())
    for step in steps:
        name, _, setting = step.partition(":")
        changed = find_rewrite(name)(changed, context, setting)
    return changed


def answers(model: onnx.ModelProto, inputs: list[dict[str, Any]]) -> NDArray[np.float32]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(None, one)[0] for one in inputs])


def drift(model: onnx.ModelProto, other: onnx.ModelProto, inputs: list[dict[str, Any]]) -> float:
    truth, moved = answers(model, inputs), answers(other, inputs)
    return float(np.linalg.norm(moved - truth) / np.linalg.norm(truth - truth.mean(0)))


def test_the_export_takes_any_batch_and_length(model: onnx.ModelProto) -> None:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for batch, tokens in ((1, 1), (1, 128), (5, 3)):
        ids = np.ones((batch, tokens), dtype=np.int64)
        (vectors,) = session.run(None, {"input_ids": ids, "attention_mask": ids})
        assert vectors.shape == (batch, 64)


def test_smoothing_moves_nothing(model: onnx.ModelProto, context: Context, inputs: list[Feed]) -> None:
    smoothed = rewritten(model, context, "smooth:0.6")
    assert drift(model, smoothed, inputs) < 1e-5
    assert sum(node.name.endswith(".smooth") for node in smoothed.graph.node) > 0


def test_int8_weights_have_seven_bits(model: onnx.ModelProto, context: Context, inputs: list[Feed]) -> None:
    layers = len(list(linears(model)))
    pressed = rewritten(model, context, "int8-matmul")
    assert Counter(node.op_type for node in pressed.graph.node)["MatMulInteger"] == layers
    weights = [tensor for name, tensor in initializers(pressed).items() if name.endswith("_quantized")]
    assert len(weights) == layers
    for tensor in weights:
        values = onnx.numpy_helper.to_array(tensor)
        assert values.dtype == np.int8
        assert np.abs(values.astype(int)).max() <= 64
    assert drift(model, pressed, inputs) < 0.15


def test_embedding_rows_keep_their_direction(model: onnx.ModelProto, context: Context, inputs: list[Feed]) -> None:
    pressed = rewritten(model, context, "int8-embeddings")
    assert drift(model, pressed, inputs) < 0.02
    assert pressed.ByteSize() < 0.4 * model.ByteSize()


def test_halves_are_stored_and_not_computed(model: onnx.ModelProto, context: Context, inputs: list[Feed]) -> None:
    pressed = rewritten(model, context, "fuse", "half")
    assert drift(model, pressed, inputs) < 0.005
    assert pressed.ByteSize() < 0.55 * model.ByteSize()


def test_a_weight_too_large_for_half_stays_whole(model: onnx.ModelProto, context: Context) -> None:
    table = next(tensor for tensor in model.graph.initializer if list(tensor.dims) == [30522, 64])
    values = onnx.numpy_helper.to_array(table).copy()
    values[7, 7] = 1e6
    table.CopyFrom(onnx.numpy_helper.from_array(values, table.name))
    pressed = rewritten(model, context, "half")
    kept = initializers(pressed)[table.name]
    assert kept.data_type == onnx.TensorProto.FLOAT
