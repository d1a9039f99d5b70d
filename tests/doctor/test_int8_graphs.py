"""int8 graphs: weights of 8 bits are found wherever onnxruntime multiplies integers, and nowhere else."""

import builtins
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from coldpress.doctor import Finding, examine
from coldpress.doctor.graph import full_range_weights

Found = Callable[..., Finding]
Edit = Callable[[Path, Callable[[dict[str, Any]], object]], None]

_FLOAT = TensorProto.FLOAT


def _save(path: Path, nodes: list[Any], tensors: dict[str, Any]) -> Path:
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", _FLOAT, [None, 4])],
        [helper.make_tensor_value_info("y", _FLOAT, None)],
        [numpy_helper.from_array(values, name) for name, values in tensors.items()],
    )
    onnx.save(helper.make_model(graph), path)
    return path


def _dynamic(path: Path, largest: int) -> Path:
    """As our own recipe and onnxruntime's dynamic quantizer make it."""
    weight = np.array([[largest, -largest], [1, 2], [3, 4], [5, 6]], np.int8)
    return _save(
        path,
        [
            helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
            helper.make_node(
                "MatMulIntegerToFloat",
                ["q", "weight", "s", "steps", "z"],
                ["y"],
                domain="com.microsoft",
            ),
        ],
        {"weight": weight, "steps": np.array([0.1, 0.1], np.float32)},
    )


def _static(path: Path, largest: int) -> Path:
    """QDQ: quantized and back on both sides of a float product."""
    weight = np.array([[largest, 0], [1, 2], [3, 4], [5, 6]], np.int8)
    return _save(
        path,
        [
            helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
            helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
            helper.make_node("DequantizeLinear", ["weight", "s", "wz"], ["w"]),
            helper.make_node("MatMul", ["d", "w"], ["y"]),
        ],
        {
            "weight": weight,
            "s": np.array(0.1, np.float32),
            "z": np.array(0, np.uint8),
            "wz": np.array(0, np.int8),
        },
    )


@pytest.mark.parametrize("make", [_dynamic, _static])
def test_eight_bits_are_found_and_seven_are_not(tmp_path: Path, make: Callable[[Path, int], Path]) -> None:
    assert full_range_weights(make(tmp_path / "eight.onnx", 127)) == ["weight"]
    assert full_range_weights(make(tmp_path / "also.onnx", 65)) == ["weight"]
    assert full_range_weights(make(tmp_path / "seven.onnx", 64)) == []


def test_tables_and_unsigned_weights_are_safe(tmp_path: Path) -> None:
    """A table of embeddings is looked up, not multiplied; unsigned weights have kernels of 32 bits."""
    path = _save(
        tmp_path / "model.onnx",
        [
            helper.make_node("Gather", ["table", "x"], ["rows"]),
            helper.make_node("DequantizeLinear", ["rows", "s"], ["r"]),
            helper.make_node("MatMulInteger", ["q", "unsigned"], ["y"]),
        ],
        {
            "table": np.array([[127, -127]], np.int8),
            "s": np.array(0.1, np.float32),
            "unsigned": np.array([[255]], np.uint8),
        },
    )
    assert full_range_weights(path) == []


@pytest.fixture
def pressed_graph(demo: Path, edit: Edit) -> Path:
    """The artifact as if onnxruntime ran it."""
    model = demo / "function/models/minilm"
    edit(model / "task.json", lambda task: task.update(engine="onnxruntime", model="model.onnx"))

    def recipe(manifest: dict[str, Any]) -> None:
        manifest["models"]["minilm"]["recipe"] = {
            "engine": "onnxruntime",
            "precision": "int8",
            "rewrites": ["fuse", "int8-matmul"],
            "keep": [],
        }

    edit(demo / "coldpress.json", recipe)
    _dynamic(model / "model.onnx", 64)
    return demo


def test_a_graph_that_is_unsafe_on_avx2(pressed_graph: Path, found: Found, edit: Edit) -> None:
    assert found(pressed_graph, "int8 on AVX2").level == "green"
    _dynamic(pressed_graph / "function/models/minilm/model.onnx", 127)
    finding = found(pressed_graph, "int8 on AVX2")
    assert finding.level == "red"
    assert "minilm: weight" in finding.what
    assert "reduce_range=True" in finding.fix
    edit(pressed_graph / "coldpress.json", lambda manifest: manifest.update(arch="arm64"))
    assert found(pressed_graph, "int8 on AVX2").level == "green"


def test_a_graph_that_cannot_be_read(pressed_graph: Path) -> None:
    (pressed_graph / "function/models/minilm/model.onnx").write_bytes(b"\xff no graph")
    (finding,) = [one for one in examine(pressed_graph) if one.name == "int8 on avx2"]
    assert finding.level == "yellow"
    assert "could not be looked at" in finding.what


def test_without_onnx_the_recipe_tells(pressed_graph: Path, monkeypatch: pytest.MonkeyPatch, found: Found) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "onnx":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    assert "by the recipe" in found(pressed_graph, "int8 on AVX2").what
    manifest = json.loads((pressed_graph / "coldpress.json").read_text())
    manifest["models"]["minilm"]["recipe"]["rewrites"] = ["theirs"]
    (pressed_graph / "coldpress.json").write_text(json.dumps(manifest))
    finding = found(pressed_graph, "int8 on AVX2")
    assert finding.level == "yellow"
    assert "coldpress[export]" in finding.fix
