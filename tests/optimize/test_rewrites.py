"""Each rewrite alone: what must not move does not, and what it is for happens."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from families import make
from numpy.typing import NDArray
from torch import nn

from coldpress.intake import Options, find
from coldpress.intake.folder import describe_folder
from coldpress.intake.source import Source, TextEncoder
from coldpress.optimize.export import export
from coldpress.optimize.graph import initializers, linears
from coldpress.optimize.rewrites import REWRITES, Context, find_rewrite
from coldpress.tasks import Feed, task_of
from coldpress.tasks.embeddings import Embeddings


def embeddings(source: Source) -> Embeddings:
    assert isinstance(source, TextEncoder)
    return Embeddings(source)


@pytest.fixture(scope="module")
def task(tiny_folder: Path) -> Embeddings:
    return embeddings(describe_folder(tiny_folder, "tiny", Options()))


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
def context(task: Embeddings, inputs: list[Feed], tmp_path: Path) -> Context:
    return Context(lambda: inputs, task.probes, tmp_path)


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
        (vectors,) = session.run(None, {"input_ids": ids})
        assert vectors.shape == (batch, 64)


def test_smoothing_moves_nothing(model: onnx.ModelProto, context: Context, inputs: list[Feed]) -> None:
    smoothed = rewritten(model, context, "smooth:0.6")
    assert drift(model, smoothed, inputs) < 1e-5
    assert sum(node.name.endswith(".smooth") for node in smoothed.graph.node) > 0


def kinds(model: onnx.ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


def test_int8_weights_have_seven_bits(model: onnx.ModelProto, context: Context, inputs: list[Feed]) -> None:
    layers = list(linears(model))
    pressed = rewritten(model, context, "int8-matmul")
    assert kinds(pressed)["MatMulIntegerToFloat"] == len(layers)
    assert kinds(pressed)["DynamicQuantizeLinear"] == len({node.input[0] for node in layers}), "shared by readers"
    weights = [tensor for tensor in pressed.graph.initializer if tensor.data_type == onnx.TensorProto.INT8]
    assert len(weights) == len(layers)
    for tensor in weights:
        assert np.abs(onnx.numpy_helper.to_array(tensor).astype(int)).max() <= 64
    assert drift(model, pressed, inputs) < 0.15


def test_layers_that_are_kept_stay_floats(model: onnx.ModelProto, context: Context) -> None:
    names = [node.name for node in linears(model)]
    pressed = rewritten(model, replace(context, keep=tuple(names[:3])), "int8-matmul")
    assert kinds(pressed)["MatMulIntegerToFloat"] == len(names) - 3
    assert [node.name for node in linears(pressed)] == names[:3]


def test_masks_of_zeros_are_not_added(model: onnx.ModelProto, context: Context, inputs: list[Feed]) -> None:
    changed = rewritten(model, context, "drop-zeros")
    assert kinds(model)["Add"] - kinds(changed)["Add"] == 2, "one for each layer"
    assert drift(model, changed, inputs) == 0


def test_a_mask_that_hides_something_stays(minilm_folder: Path, tmp_path: Path) -> None:
    """A ModernBERT looks at eight neighbours in some layers and at all tokens in others."""
    make("modernbert", minilm_folder, tmp_path / "model", local_attention=8)
    task = embeddings(describe_folder(tmp_path / "model", "modern", Options(max_tokens=64)))
    export(task, tmp_path / "exported.onnx", lambda text: None)
    model = onnx.load(tmp_path / "exported.onnx")
    changed = rewritten(model, Context(task.calibration, task.probes, tmp_path), "drop-zeros")
    assert 0 < kinds(model)["Add"] - kinds(changed)["Add"] < 4
    assert drift(model, changed, task.calibration()) < 1e-6


def test_attention_becomes_one_node(model: onnx.ModelProto, context: Context, inputs: list[Feed]) -> None:
    fused = rewritten(model, context, "drop-zeros", "fuse-attention")
    assert kinds(fused)["MultiHeadAttention"] == 2
    assert kinds(fused)["Softmax"] == kinds(fused)["Transpose"] == 0
    assert drift(model, fused, inputs) < 1e-5


def test_what_has_no_attention_is_left_alone(context: Context) -> None:
    plain = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 21]> g (float[n, 4] x) => (float[n, 4] y) { y = Relu (x) }"""
    )
    for name in REWRITES:
        setting = ":0.5" if name == "smooth" else ""
        assert kinds(rewritten(plain, context, name + setting)) == {"Relu": 1}


def test_norms_of_sums_are_one_node(model: onnx.ModelProto, context: Context, inputs: list[Feed]) -> None:
    fused = rewritten(model, context, "fuse", "skip-norm")
    assert kinds(fused)["LayerNormalization"] == 0
    assert kinds(fused)["SkipLayerNormalization"] == 5
    assert drift(model, fused, inputs) < 1e-5


def test_biases_leave_slow_nodes(model: onnx.ModelProto, context: Context, inputs: list[Feed]) -> None:
    fused = rewritten(model, context, "drop-zeros", "fuse-attention", "fuse")
    split = rewritten(fused, context, "split-bias")
    assert (kinds(fused)["BiasGelu"], kinds(split)["BiasGelu"], kinds(split)["Gelu"]) == (2, 0, 2)
    assert all(len(node.input) < 5 for node in split.graph.node if node.op_type == "SkipLayerNormalization")
    assert drift(model, split, inputs) < 1e-5


def test_gelu_by_tanh_is_close(model: onnx.ModelProto, context: Context, inputs: list[Feed]) -> None:
    changed = rewritten(model, context, "fast-gelu", "fuse")
    assert kinds(changed)["FastGelu"] == 2
    assert 0 < drift(model, changed, inputs) < 0.005


def small_network(tmp_path: Path) -> tuple[onnx.ModelProto, Context, list[Feed]]:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.Flatten(), nn.Linear(512, 4))
    example = torch.randn(2, 3, 12, 12)
    with find(network, Options(inputs=example)) as source:
        task = task_of(source)
        export(task, tmp_path / "exported.onnx", lambda text: None)
    return (
        onnx.load(tmp_path / "exported.onnx"),
        Context(task.calibration, task.probes, tmp_path),
        task.calibration(),
    )


def test_convolutions_in_seven_bits(tmp_path: Path) -> None:
    model, context, feeds = small_network(tmp_path)
    first = next(node.name for node in model.graph.node if node.op_type == "Conv")
    for keep, count in (((), 2), ((first,), 1)):
        pressed = rewritten(model, replace(context, keep=keep), "int8-conv", "fuse")
        assert kinds(pressed)["QLinearConv"] == count
        for tensor in pressed.graph.initializer:
            if tensor.data_type == onnx.TensorProto.INT8:
                assert np.abs(onnx.numpy_helper.to_array(tensor).astype(int)).max() <= 64
        assert 0 < drift(model, pressed, feeds) < 0.1


def test_lstms_in_seven_bits(tmp_path: Path) -> None:
    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(16, 32, 2, batch_first=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            answer: torch.Tensor = self.lstm(x)[0]
            return answer

    torch.manual_seed(0)
    with find(Recurrent(), Options(inputs=torch.randn(2, 9, 16))) as source:
        task = task_of(source)
        export(task, tmp_path / "exported.onnx", lambda text: None)
    model, context = onnx.load(tmp_path / "exported.onnx"), Context(task.calibration, task.probes, tmp_path)
    pressed = rewritten(model, context, "fuse:basic", "int8-lstm")
    assert kinds(pressed)["DynamicQuantizeLSTM"] == 2
    for tensor in pressed.graph.initializer:
        if tensor.data_type == onnx.TensorProto.INT8:
            assert np.abs(onnx.numpy_helper.to_array(tensor).astype(int)).max() <= 64
    assert 0 < drift(model, pressed, [feed for feed in task.calibration() if len(feed["x"]) == 1]) < 0.1


def test_gemm_is_unfolded(tmp_path: Path) -> None:
    model, context, feeds = small_network(tmp_path)
    unfolded = rewritten(model, context, "unfold-gemm")
    assert (kinds(model)["Gemm"], kinds(unfolded)["Gemm"], len(list(linears(unfolded)))) == (1, 0, 1)
    assert drift(model, unfolded, feeds) < 1e-6


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


def test_what_a_branch_reads_stays(context: Context) -> None:
    """Graphs inside of nodes read names of the graph around them."""
    from onnx import TensorProto, helper, numpy_helper

    inner = helper.make_graph(
        [helper.make_node("Add", ["y", "apart"], ["z"])],
        "then",
        [],
        [helper.make_tensor_value_info("z", 1, [1, 4])],
    )
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["x", "weight"], ["y"], name="gemm"),
            helper.make_node("If", ["yes"], ["out"], then_branch=inner, else_branch=inner),
        ],
        "branches",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, [1, 4])],
        [
            numpy_helper.from_array(np.eye(4, dtype=np.float32), "weight"),
            numpy_helper.from_array(np.ones(4, np.float32), "apart"),
            numpy_helper.from_array(np.array(True), "yes"),
        ],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    for step in ("unfold-gemm", "drop-zeros", "skip-norm"):
        made = find_rewrite(step)(made, context, "")
    assert {tensor.name for tensor in made.graph.initializer} >= {"apart", "yes"}
    onnx.checker.check_model(made)
