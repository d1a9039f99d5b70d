"""Lowering: every family, with random weights, against PyTorch."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import coldpress
from coldpress.artifact import Artifact
from coldpress.errors import UnsupportedModel, UsageError

BERT = {
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 30522,
}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("Bert", BERT),
    "electra": ("Electra", BERT | {"embedding_size": 32}),
    "distilbert": (
        "DistilBert",
        {"dim": 64, "n_layers": 3, "n_heads": 4, "hidden_dim": 128, "vocab_size": 30522},
    ),
    "roberta": ("Roberta", BERT | {"max_position_embeddings": 514, "pad_token_id": 1}),
    "xlm-roberta": ("XLMRoberta", BERT | {"max_position_embeddings": 514, "pad_token_id": 1}),
    "camembert": ("Camembert", BERT | {"max_position_embeddings": 514, "pad_token_id": 1}),
    "albert": ("Albert", BERT | {"embedding_size": 32, "pad_token_id": 0}),
}


def make(family: str, minilm_folder: Path, folder: Path, damage: bool = False) -> Path:
    """A small model of a family, as its config initialises it; MiniLM's tokenizer serves them all."""
    import transformers

    name, settings = FAMILIES[family]
    torch.manual_seed(0)
    model = getattr(transformers, f"{name}Model")(getattr(transformers, f"{name}Config")(**settings)).eval()
    if damage:
        with torch.no_grad():
            for module in model.modules():
                if isinstance(module, torch.nn.LayerNorm) and module.weight.numel() == 64:
                    module.weight[[3, 17, 40]] *= 30
    model.save_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm_folder)
    tokenizer.save_pretrained(folder)
    return folder


def drift(artifact: Artifact) -> float:
    (candidate,) = json.loads((artifact.path / "measured.json").read_text())["candidates"]
    return float(candidate["drift"]["total"])


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family(family: str, minilm_folder: Path, tmp_path: Path) -> None:
    model = make(family, minilm_folder, tmp_path / "model")
    artifact = coldpress.build(model, out=tmp_path / "out", engine="press", package="none", max_tokens=128)
    assert artifact.manifest["engine"] == "press"
    assert drift(artifact) <= 0.06


@pytest.mark.slow
def test_three_channels_blown_up_thirtyfold(minilm_folder: Path, tmp_path: Path) -> None:
    model = make("bert", minilm_folder, tmp_path / "model", damage=True)
    artifact = coldpress.build(model, out=tmp_path / "out", engine="press", package="none")
    assert drift(artifact) <= 0.15


@pytest.mark.parametrize(
    "pooling", ["mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken", "none"]
)
def test_every_pooling(pooling: str, tiny_folder: Path, tiny_artifact: Artifact, tmp_path: Path) -> None:
    artifact = coldpress.build(tiny_folder, out=tmp_path / "out", engine="press", pooling=pooling, package="none")
    texts = ["hello", "a longer text than the other one"]
    answers = artifact.function()({"text": texts})["embeddings"]
    assert np.array(answers[0]).shape == ((3, 64) if pooling == "none" else (64,))
    assert (
        drift(artifact) <= 0.1
    )  # its weights are five times as large as a config's own: wrong pooling drifts by 1


def test_shared_layers_are_written_once(minilm_folder: Path, tmp_path: Path) -> None:
    from coldpress.intake import Options, find
    from coldpress.optimize.press.albert import lower_albert

    with find(make("albert", minilm_folder, tmp_path / "model"), Options(max_tokens=128)) as source:
        file = lower_albert(source)
    file.write(tmp_path / "shared.press")
    once = (tmp_path / "shared.press").stat().st_size
    file.ops = [op for op in file.ops if op.kind != 3]
    file.write(tmp_path / "none.press")
    assert once - (tmp_path / "none.press").stat().st_size < 64 * 64 * 12


def test_what_press_cannot_run_goes_to_onnxruntime_and_says_why(tiny_folder: Path, tmp_path: Path) -> None:
    """Two poolings side by side: refused when press is asked for by name, pressed as a graph otherwise."""
    import shutil

    model = Path(shutil.copytree(tiny_folder, tmp_path / "model"))
    modules = [
        {"idx": 0, "path": "", "type": "x.Transformer"},
        {"idx": 1, "path": "1_Pooling", "type": "x.Pooling"},
    ]
    (model / "modules.json").write_text(json.dumps(modules))
    (model / "1_Pooling").mkdir()
    config = {"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}
    (model / "1_Pooling/config.json").write_text(json.dumps(config))
    with pytest.raises(UnsupportedModel, match="several ways at once"):
        coldpress.build(model, out=tmp_path / "out", engine="press")
    artifact = coldpress.build(model, out=tmp_path / "out", package="none")
    assert artifact.manifest["engine"] == "onnxruntime"


def test_press_computes_in_int8_only(tiny_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="int8 only"):
        coldpress.build(tiny_folder, out=tmp_path / "out", engine="press", precision="fp16")
