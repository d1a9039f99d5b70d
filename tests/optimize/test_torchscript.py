"""The classic way: torch itself in the function, for what cannot be exported."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import coldpress
from coldpress.artifact import Artifact
from coldpress.emulate.sandbox import Sandbox
from coldpress.errors import TooLarge, UnsupportedModel
from coldpress.progress import Silent
from coldpress.verify.recheck import recheck


class NoGraph(nn.Module):
    """No exporter knows how to write eigenvalues."""

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        # Values only: vectors of values that lie close together are anybody's choice.
        values = torch.linalg.eigvalsh(x @ x.transpose(1, 2))
        return {"values": values, "trace": values.sum(-1)}


@pytest.fixture(scope="module")
def eigenvalues(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    torch.manual_seed(0)
    out = tmp_path_factory.mktemp("torch") / "out"
    return coldpress.build(NoGraph(), out=out, inputs=torch.randn(2, 5, 5), engine="torch", package="none")


@pytest.mark.slow
def test_what_cannot_be_exported_is_served_as_it_is(eigenvalues: Artifact) -> None:
    """Through the real bootstrap, in a process that sees nothing of this environment's packages."""
    x = torch.randn(3, 5, 5)
    with Sandbox(eigenvalues.function_folder) as sandbox:
        answer = json.loads(sandbox.invoke(json.dumps({"inputs": {"x": x.tolist()}}).encode()).body)
        bad = json.loads(sandbox.invoke(b'{"inputs": {"x": [[1]]}}').body)
        assert sandbox.invoke(json.dumps({"inputs": x.tolist()}).encode()).ok, "it lives on"
    with torch.inference_mode():
        right = NoGraph()(x)
    assert list(answer["outputs"]) == ["values", "trace"]
    for name, tensor in right.items():
        assert np.allclose(answer["outputs"][name], tensor.numpy(), rtol=1e-4, atol=1e-4)
    assert bad["error"]["code"] == "wrong_shape"


@pytest.mark.slow
def test_it_agrees_as_an_older_cpu(eigenvalues: Artifact) -> None:
    if shutil.which("qemu-x86_64-static") is None:
        pytest.skip("not installed: qemu-x86_64-static")
    checks = recheck(eigenvalues, ["avx2"], None, Silent())
    assert all(check.passed for check in checks)
    assert (checks[-1].value or 0) <= 1e-4
    with pytest.raises(UnsupportedModel, match="built on the architecture that it is for"):
        recheck(eigenvalues, ["arm64"], None, Silent())


def test_it_names_its_python_and_its_torch(eigenvalues: Artifact) -> None:
    manifest = eigenvalues.manifest
    assert manifest["python"] == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert manifest["versions"]["torch"] == torch.__version__
    assert manifest["models"]["nograph"]["recipe"]["engine"] == "torch"
    assert not (eigenvalues.function_folder / "lib/python/torch/include").exists()


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp16", "int8"])
def test_texts_and_smaller_weights(precision: str, tiny_folder: Path, tmp_path: Path) -> None:
    pressed = coldpress.build(
        tiny_folder, out=tmp_path / "out", engine="torch", precision=precision, package="none", max_drift=0.5
    )
    whole = (tiny_folder / "model.safetensors").stat().st_size
    model = pressed.function_folder / "models/tiny-bert/model.ts"
    assert model.stat().st_size < (0.6 if precision == "fp16" else 1.0) * whole
    texts = ["hello", "a longer text than the other", "hello"]
    with Sandbox(pressed.function_folder) as sandbox:
        answer = json.loads(sandbox.invoke(json.dumps({"text": texts}).encode()).body)
    first, other, again = np.array(answer["embeddings"])
    assert np.allclose(first, again, atol=1e-5)
    assert not np.allclose(first, other, atol=1e-2)


def test_it_does_not_fit_a_zip(tmp_path: Path) -> None:
    with pytest.raises(TooLarge, match=r"torch fp32, has \d+ MB unzipped; a zip may have 250\. .* image"):
        coldpress.build(
            NoGraph(), out=tmp_path / "out", inputs=torch.randn(2, 5, 5), engine="torch", quick=True, package="zip"
        )
    assert list(tmp_path.iterdir()) == []


def test_int8_without_linear_layers(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModel, match="no linear layers"):
        coldpress.build(
            NoGraph(), out=tmp_path / "out", inputs=torch.randn(2, 5, 5), engine="torch", precision="int8"
        )
