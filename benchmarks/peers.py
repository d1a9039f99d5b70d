"""Peers of the warm benchmark: each takes token ids of equal length and gives embeddings."""

import logging
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from coldpress.artifact import Artifact
from coldpress.intake import Options, find
from coldpress.intake.demo import demo_folder
from coldpress.intake.source import TextEncoder
from coldpress.tasks.embeddings import Embeddings
from coldpress.tasks.encoder import load_encoder
from coldpress_runtime.model import open_model

Ids = NDArray[np.int64]
Embed = Callable[[Ids], Any]


def peers(source: TextEncoder, work: Path) -> dict[str, Embed]:
    """All that runs this model here, each on one thread."""
    torch.set_num_threads(1)
    made: dict[str, Embed] = {}
    encoder = load_encoder(source)
    made["torch fp32"] = _torch(encoder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated, and still what people use
        quantize = torch.ao.quantization.quantize_dynamic
        made["torch int8"] = _torch(quantize(encoder, {torch.nn.Linear}, torch.qint8))  # type: ignore[no-untyped-call]
    exported, quantized = _graphs(source, work)
    made["onnxruntime fp32"] = _onnxruntime(exported)
    made["onnxruntime int8"] = _onnxruntime(quantized)
    made["openvino fp32"] = _openvino(exported)
    made["openvino int8"] = _openvino(quantized)
    made["ctranslate2 int8"] = _ctranslate2(work / "ctranslate2")
    return made


def ours(artifact: Artifact, threads: int) -> Embed:
    """One of our artifacts, by the runtime's own engine."""
    folder = artifact.function_folder
    (model,) = (folder / "models").iterdir()
    session = open_model(str(model), (str(folder / "lib"),), threads).session

    def embed(ids: Ids) -> Any:
        output = session.run(ids.tolist())
        raw = output.raw(0, output.row(len(ids) - 1)[1])
        output.close()
        return np.frombuffer(raw, np.float32)

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


def _graphs(source: TextEncoder, work: Path) -> tuple[Path, Path]:
    """The model as onnxruntime's own tools make it: exported, then quantize_dynamic."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    from coldpress.optimize.export import export

    work.mkdir(parents=True, exist_ok=True)
    logging.getLogger().setLevel(logging.ERROR)
    export(Embeddings(source), work / "fp32.onnx", lambda text: None)
    model = onnx.load(work / "fp32.onnx")
    quantize_dynamic(model, work / "int8.onnx", per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)
    return work / "fp32.onnx", work / "int8.onnx"


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
