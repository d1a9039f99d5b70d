"""Peers of the warm benchmark: each takes token ids of equal length and gives embeddings."""

import json
import logging
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from coldpress.artifact import Artifact
from coldpress.bench.peers.exported import MaskedEncoder, export_masked, quantize_dynamic
from coldpress.intake import Options, find
from coldpress.intake.demo import demo_folder
from coldpress.intake.source import TextEncoder
from coldpress_runtime.model import open_model

Ids = NDArray[np.int64]
Embed = Callable[[Ids], Any]


def peers(work: Path) -> dict[str, Embed]:
    """All that runs this model here, each on one thread."""
    torch.set_num_threads(1)
    made: dict[str, Embed] = {}
    source = find("demo:minilm", Options())
    assert isinstance(source, TextEncoder)
    encoder = MaskedEncoder(source).eval()
    made["torch fp32"] = _torch(encoder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated, and still what people use
        quantize = torch.ao.quantization.quantize_dynamic
        made["torch int8"] = _torch(quantize(encoder, {torch.nn.Linear}, torch.qint8))  # type: ignore[no-untyped-call]
    work.mkdir(parents=True, exist_ok=True)
    exported = export_masked(source, work / "fp32.onnx")
    quantized = quantize_dynamic(exported, work / "int8.onnx")
    old = export_masked(source, work / "old.onnx", dynamo=False)
    optimized = _optimized_by_onnxruntime(old, work / "optimized.onnx")
    made["onnxruntime fp32"] = _onnxruntime(exported)
    made["onnxruntime int8"] = _onnxruntime(quantized)
    made["onnxruntime int8, its transformer optimizer"] = _onnxruntime(
        quantize_dynamic(optimized, work / "optimized_int8.onnx")
    )
    made["openvino fp32"] = _openvino(exported)
    made["openvino int8"] = _openvino(quantized)
    made["ctranslate2 int8"] = _ctranslate2(work / "ctranslate2")
    return made


def _optimized_by_onnxruntime(graph: Path, target: Path) -> Path:
    """onnxruntime's transformer optimizer, told what it asks for."""
    from onnxruntime.transformers.optimizer import optimize_model

    logging.getLogger("onnxruntime").setLevel(logging.ERROR)
    optimize_model(str(graph), "bert", num_heads=12, hidden_size=384).save_model_to_file(str(target))
    return target


def ours(artifact: Artifact, threads: int) -> Embed:
    """One of our artifacts, by the runtime's own engine."""
    folder = artifact.function_folder
    (model,) = (folder / "models").iterdir()
    session = open_model(str(model), (str(folder / "lib"),), threads).session

    spec = json.loads((model / "task.json").read_text())

    def embed(ids: Ids) -> Any:
        """In batches of as many tokens as the function runs together."""
        at_once = max(1, spec["limits"]["batch_tokens"] // ids.shape[1])
        parts = []
        for start in range(0, len(ids), at_once):
            some = ids[start : start + at_once].tolist()
            output = session.run(some)
            parts.append(np.frombuffer(output.raw(0, output.row(len(some) - 1)[1]), np.float32))
            output.close()
        return np.concatenate(parts)

    return embed


def demo_source() -> TextEncoder:
    with find(demo_folder("demo:minilm"), Options()) as source:
        assert isinstance(source, TextEncoder)
        return source


def _torch(model: torch.nn.Module) -> Embed:
    def embed(ids: Ids) -> Any:
        with torch.inference_mode():
            tokens = torch.from_numpy(ids)
            return model(tokens, torch.ones_like(tokens)).numpy()

    return embed


def _onnxruntime(path: Path) -> Embed:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda ids: session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0]


def _openvino(path: Path) -> Embed:
    import openvino

    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY"}
    compiled = core.compile_model(core.read_model(str(path)), "CPU", settings)
    return lambda ids: compiled({"input_ids": ids, "attention_mask": np.ones_like(ids)})[0]


def _ctranslate2(folder: Path) -> Embed:
    import ctranslate2
    from ctranslate2.converters import TransformersConverter

    TransformersConverter(str(demo_folder("demo:minilm"))).convert(str(folder), quantization="int8", force=True)
    encoder = ctranslate2.Encoder(str(folder), compute_type="int8", intra_threads=1, inter_threads=1)

    def embed(ids: Ids) -> Any:
        hidden = np.asarray(encoder.forward_batch(ids.tolist()).last_hidden_state)
        pooled = hidden.mean(axis=1)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)

    return embed
