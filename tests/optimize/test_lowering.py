"""Lowering: every family, with random weights, against PyTorch."""

import importlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from families import FAMILIES, make

import coldpress
from coldpress.artifact import Artifact
from coldpress.errors import DriftError, UnsupportedModel, UsageError


def drift(artifact: Artifact) -> float:
    return float(artifact.measured()["candidates"][0]["verdict"]["drift"]["total"])


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family(family: str, minilm_folder: Path, tmp_path: Path) -> None:
    make(family, minilm_folder, tmp_path / "model")
    artifact = coldpress.build(
        tmp_path / "model", out=tmp_path / "out", engine="press", quick=True, package="none", max_tokens=128
    )
    assert artifact.manifest["engine"] == "press"
    assert drift(artifact) <= 0.06


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_three_channels_blown_up_thirtyfold(family: str, minilm_folder: Path, tmp_path: Path) -> None:
    make(family, minilm_folder, tmp_path / "model", blown_up=True)
    artifact = coldpress.build(
        tmp_path / "model", out=tmp_path / "out", engine="press", quick=True, package="none", max_tokens=128
    )
    assert drift(artifact) <= 0.15


@pytest.mark.parametrize(
    "pooling", ["mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken", "none"]
)
def test_every_pooling(pooling: str, tiny_folder: Path, tiny_artifact: Artifact, tmp_path: Path) -> None:
    artifact = coldpress.build(
        tiny_folder, out=tmp_path / "out", engine="press", pooling=pooling, quick=True, package="none"
    )
    texts = ["hello", "a longer text than the other one"]
    answers = artifact.function()({"text": texts})["embeddings"]
    assert np.array(answers[0]).shape == ((3, 64) if pooling == "none" else (64,))
    assert drift(artifact) <= 0.06


def test_shared_layers_are_written_once(minilm_folder: Path, tmp_path: Path) -> None:
    from coldpress.intake import Options, find
    from coldpress.intake.source import TextEncoder
    from coldpress.optimize.press import lower
    from coldpress.optimize.press.calibrate import Calibration
    from coldpress.optimize.press.quantize import quantize

    make("albert", minilm_folder, tmp_path / "model")
    with find(tmp_path / "model", Options(max_tokens=128)) as source:
        assert isinstance(source, TextEncoder)
        file = lower(source)
        calibration = Calibration(file, [([101, 102], [0, 0])], tmp_path)
    quantize(file, calibration)
    file.write(tmp_path / "shared.press")
    once = (tmp_path / "shared.press").stat().st_size
    file.ops = [op for op in file.ops if op.kind != 3]
    file.write(tmp_path / "none.press")
    assert once - (tmp_path / "none.press").stat().st_size < 64 * 64 * 12


def sentence_transformer(
    tiny_folder: Path, folder: Path, pooling: dict[str, bool], dense: list[dict[str, Any]]
) -> Path:
    """The tiny model with modules on top, as sentence-transformers saves them."""
    from safetensors.torch import save_file

    shutil.copytree(tiny_folder, folder)
    kinds = ["Transformer", "Pooling", *["Dense"] * len(dense), "Normalize"]
    paths = ["", "1_Pooling", *[f"{at + 2}_Dense" for at in range(len(dense))], "9_Normalize"]
    modules = [
        {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for at, (kind, path) in enumerate(zip(kinds, paths, strict=True))
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(json.dumps(pooling | {"word_embedding_dimension": 64}))
    torch.manual_seed(1)
    for at, config in enumerate(dense):
        where = folder / f"{at + 2}_Dense"
        where.mkdir()
        (where / "config.json").write_text(json.dumps(config))
        layer = torch.nn.Linear(config["in_features"], config["out_features"], bias=config["bias"])
        save_file(
            {f"linear.{name}": value for name, value in layer.state_dict().items()}, where / "model.safetensors"
        )
    return folder


@pytest.mark.parametrize("engine", ["press", "onnxruntime"])
def test_poolings_side_by_side_and_dense_layers(engine: str, tiny_folder: Path, tmp_path: Path) -> None:
    dense = [
        {
            "in_features": 128,
            "out_features": 48,
            "bias": True,
            "activation_function": "torch.nn.modules.activation.Tanh",
        },
        {
            "in_features": 48,
            "out_features": 40,
            "bias": False,
            "activation_function": "torch.nn.modules.linear.Identity",
        },
    ]
    pooling = {"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}
    model = sentence_transformer(tiny_folder, tmp_path / "model", pooling, dense)
    artifact = coldpress.build(model, out=tmp_path / "out", engine=engine, quick=True, package="none")
    assert artifact.manifest["engine"] == engine
    (answer,) = artifact.function()({"text": "hello"})["embeddings"]
    assert len(answer) == 40
    assert np.linalg.norm(answer) == pytest.approx(1, abs=1e-5)
    assert drift(artifact) <= 0.15


def test_what_press_cannot_run_goes_to_onnxruntime_and_says_why(tiny_folder: Path, tmp_path: Path) -> None:
    """An activation that press has not: refused when press is asked for by name, pressed as a graph otherwise."""
    dense = [
        {
            "in_features": 64,
            "out_features": 32,
            "bias": True,
            "activation_function": "torch.nn.modules.activation.Sigmoid",
        }
    ]
    model = sentence_transformer(tiny_folder, tmp_path / "model", {"pooling_mode_mean_tokens": True}, dense)
    with pytest.raises(UnsupportedModel, match="activation 'sigmoid'"):
        coldpress.build(model, out=tmp_path / "out", engine="press")
    artifact = coldpress.build(model, out=tmp_path / "out", quick=True, package="none")
    assert artifact.manifest["engine"] == "onnxruntime"


def test_what_press_cannot_run_well_goes_to_onnxruntime_too(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights that rounding has ruined: caught by drift, and the next engine is tried."""
    module = importlib.import_module("coldpress.optimize.press.quantize")
    honest = module._linear

    def ruined(*given: Any) -> Any:
        op = honest(*given)
        op.tensors[1] = op.tensors[1] * np.float32(1.5)
        return op

    monkeypatch.setattr(module, "_linear", ruined)
    monkeypatch.setenv("COLDPRESS_CACHE", str(tmp_path / "cache"))  # nobody else's
    with pytest.raises(DriftError, match="drifts"):
        coldpress.build(tiny_folder, out=tmp_path / "out", engine="press", package="none")
    artifact = coldpress.build(tiny_folder, out=tmp_path / "out", quick=True, package="none")
    assert artifact.manifest["engine"] == "onnxruntime"
    assert not (artifact.function_folder / "models/tiny-bert/model.press").exists()


def test_press_computes_in_int8_only(tiny_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="int8 only"):
        coldpress.build(tiny_folder, out=tmp_path / "out", engine="press", precision="fp16")
