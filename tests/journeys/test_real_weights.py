"""Trained models beside MiniLM, of other kinds than text: their weights come in packages of the registry."""

from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
import real_networks
import torch

import coldpress
from coldpress.intake.tensors_file import state_dict

FACTORIES = Path(real_networks.__file__)


def packed(package: str, name: str) -> Path:
    """A file of a package that is installed and never imported."""
    (found,) = [file for file in distribution(package).files or [] if str(file).endswith(name)]
    return Path(str(found.locate()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "file", "factory"),
    [("facenet-pytorch", "data/onet.pt", "faces"), ("resemblyzer", "pretrained.pt", "voices")],
)
@pytest.mark.parametrize(("precision", "limit"), [("fp32", 0.001), ("int8", 0.15)])
def test_networks_with_weights_from_a_file(
    package: str, file: str, factory: str, precision: str, limit: float, tmp_path: Path
) -> None:
    weights = packed(package, file)
    pressed = coldpress.build(
        weights,
        out=tmp_path / "out",
        module=f"{FACTORIES}:{factory}",
        precision=precision,
        quick=True,
        package="none",
    )
    (model,) = pressed.manifest["models"].values()
    assert model["drift"]["total"] <= limit
    if precision == "fp32":
        original, example = getattr(real_networks, factory)()
        original.load_state_dict(state_dict(weights))
        with torch.inference_mode():
            wanted: dict[str, Any] = original.eval()(example)
        found = pressed.function()({"inputs": example.tolist()})["outputs"]
        for name, tensor in wanted.items():
            assert torch.allclose(torch.tensor(found[name]), tensor, atol=1e-4), name


@pytest.mark.slow
def test_a_graph_that_hears_speech(tmp_path: Path) -> None:
    """Silero's detector of voices, as it is shipped: a graph with branches inside."""
    generator = torch.Generator().manual_seed(0)
    inputs = {
        "input": torch.randn(1, 576, generator=generator) * 0.1,
        "state": torch.zeros(2, 1, 128),
        "sr": torch.tensor(16000),
    }
    graph = packed("silero-vad", "silero_vad_16k_op15.onnx")
    pressed = coldpress.build(
        graph, out=tmp_path / "out", inputs=inputs, dynamic={}, precision="fp32", quick=True, package="none"
    )
    (model,) = pressed.manifest["models"].values()
    assert (model["kind"], model["drift"]["total"] <= 0.001) == ("onnx graph", True)
