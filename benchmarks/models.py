"""Models that are no text encoders, small, with generated weights: what the chooser makes of them, beside peers.

Each is called with a batch of one and of four. The peers are used as they come: torch, torch with its own dynamic
int8 where it has such layers, onnxruntime on the exported graph with all its optimizations, OpenVINO on the same.
"""

import logging
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from torch import Tensor, nn

import coldpress
from coldpress_runtime.model import open_model

Run = Callable[[NDArray[Any]], object]
BATCHES = (1, 4)


class Only(nn.Module):
    """A transformers model that takes one tensor and gives one."""

    def __init__(self, model: nn.Module, takes: str, gives: str) -> None:
        super().__init__()
        self.model, self.takes, self.gives = model, takes, gives

    def forward(self, x: Tensor) -> Tensor:
        answer: Tensor = self.model(**{self.takes: x})[self.gives]
        return answer


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(128, 256, 2, batch_first=True)
        self.head = nn.Linear(256, 10)

    def forward(self, x: Tensor) -> Tensor:
        answer: Tensor = self.head(self.lstm(x)[0][:, -1])
        return answer


def resnet() -> tuple[nn.Module, Tensor]:
    config = transformers.ResNetConfig(
        embedding_size=32,
        hidden_sizes=[64, 128, 256, 512],
        depths=[2, 2, 2, 2],
        layer_type="basic",
        num_labels=100,
    )
    model = transformers.ResNetForImageClassification(config)
    return Only(model, "pixel_values", "logits"), torch.randn(1, 3, 224, 224)


def vit() -> tuple[nn.Module, Tensor]:
    config = transformers.ViTConfig(
        hidden_size=192, num_hidden_layers=6, num_attention_heads=3, intermediate_size=768, num_labels=100
    )
    model = transformers.ViTForImageClassification(config)
    return Only(model, "pixel_values", "logits"), torch.randn(1, 3, 224, 224)


def wav2vec2() -> tuple[nn.Module, Tensor]:
    config = transformers.Wav2Vec2Config(
        hidden_size=192,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=768,
        conv_dim=(128,) * 7,
        num_labels=10,
    )
    model = transformers.Wav2Vec2ForSequenceClassification(config)
    return Only(model, "input_values", "logits"), torch.randn(1, 16_000)


def deberta() -> tuple[nn.Module, Tensor]:
    config = transformers.DebertaV2Config(
        vocab_size=8000,
        hidden_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=1024,
        max_position_embeddings=256,
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
        position_buckets=64,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
    )
    model = transformers.DebertaV2Model(config)
    return Only(model, "input_ids", "last_hidden_state"), torch.randint(0, 8000, (1, 64))


def lstm() -> tuple[nn.Module, Tensor]:
    return Recurrent(), torch.randn(1, 64, 128)


def mlp() -> tuple[nn.Module, Tensor]:
    layers = [nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 2048), nn.GELU(), nn.Linear(2048, 10)]
    return nn.Sequential(*layers), torch.randn(1, 512)


MODELS = {
    "ResNet-18": resnet,
    "ViT": vit,
    "Wav2Vec2": wav2vec2,
    "DeBERTa-v2": deberta,
    "LSTM": lstm,
    "MLP": mlp,
}
OURS = "coldpress"


def contestants(name: str, work: Path) -> tuple[dict[str, Run], dict[str, Any]]:
    """Everything that runs the model called `name`, on one thread each; and what the chooser took."""
    torch.manual_seed(0)
    model, example = MODELS[name]()
    made = peers(name, model.eval(), example, work)
    pressed = coldpress.build(model, out=work / name, inputs=example, package="none")
    made[OURS] = _ours(pressed, next(iter(pressed.manifest["models"].values()))["inputs"][0]["type"])
    return made, pressed.measured()["candidates"][0]


def peers(name: str, model: nn.Module, example: Tensor, work: Path) -> dict[str, Run]:
    """Others that run the model; its graph stays in `work`."""
    torch.set_num_threads(1)
    logging.getLogger().setLevel(logging.ERROR)
    made: dict[str, Run] = {"torch fp32": partial(_torch, model)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name not in ("ResNet-18",):
            quantized = torch.ao.quantization.quantize_dynamic(model, {nn.Linear, nn.LSTM})  # type: ignore[no-untyped-call]
            made["torch int8"] = partial(_torch, quantized)
        graph = work / f"{name}.onnx"
        torch.onnx.export(
            model,
            (torch.cat([example, example]),),
            graph,
            input_names=["x"],
            output_names=["y"],
            dynamic_shapes=({0: torch.export.Dim.AUTO},),
            external_data=False,
            verbose=False,
        )
    made["onnxruntime"] = _onnxruntime(graph)
    made["openvino"] = _openvino(graph)
    return made


def inputs(name: str, batch: int) -> NDArray[Any]:
    example = MODELS[name]()[1]
    generator = np.random.default_rng(batch)
    shape = (batch, *example.shape[1:])
    if example.is_floating_point():
        return generator.standard_normal(shape).astype(np.float32)
    return generator.integers(0, 8000, shape)


def _torch(model: nn.Module, x: NDArray[Any]) -> object:
    with torch.inference_mode():
        return model(torch.from_numpy(x))


def _onnxruntime(path: Path) -> Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"x": x})


def onnxruntime_int8(path: Path) -> Run:
    """What its own quantizer makes of the same graph."""
    from coldpress.bench.peers.exported import quantize_dynamic

    quantize_dynamic(path, path.with_suffix(".int8.onnx"))
    return _onnxruntime(path.with_suffix(".int8.onnx"))


def _openvino(path: Path) -> Run:
    import openvino

    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY"}
    compiled = core.compile_model(core.read_model(str(path)), "CPU", settings)
    return lambda x: compiled({"x": x})


def _ours(pressed: coldpress.Artifact, kind: str) -> Run:
    folder = pressed.function_folder
    (model,) = (folder / "models").iterdir()
    session = open_model(str(model), (str(folder / "lib"),), 1).session

    def run(x: NDArray[Any]) -> object:
        made = session.call([(kind, x.shape, x.tobytes())])
        for tensor in made:
            tensor.close()
        return None

    return run
