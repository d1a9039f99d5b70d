"""ONNX Runtime's own fusions, and the formats that a function carries."""

from pathlib import Path

import onnx
import onnxruntime


def save_ort(model: onnx.ModelProto, work: Path) -> Path:
    """Fuse, and save in ONNX Runtime's flat format, which a session maps instead of parsing."""
    path = work / "model.ort"
    _optimized(model, path, "ORT")
    return path


def fused(model: onnx.ModelProto, work: Path) -> onnx.ModelProto:
    path = work / "fused.onnx"
    _optimized(model, path, "ONNX")
    return onnx.load(path)


def save_onnx(model: onnx.ModelProto, path: Path) -> Path:
    onnx.save(model, path)
    return path


def _optimized(model: onnx.ModelProto, path: Path, form: str) -> None:
    options = onnxruntime.SessionOptions()
    # Extended and no further: the level above writes memory layouts for this machine's CPU.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 3
    options.add_session_config_entry("session.save_model_format", form)
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
