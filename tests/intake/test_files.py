"""Every way that a model comes in one file, and every way that such a file can be a trap."""

import json
import os
import pickle
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import helper, numpy_helper
from safetensors.torch import save_file
from torch import nn

import coldpress
from coldpress.errors import ColdpressError, IntakeError, ModelNotFound, UnsupportedModel, UsageError
from coldpress.intake import Options, find
from coldpress.intake.module import read_dynamic

COLDPRESS = str(Path(sys.executable).parent / "coldpress")
FACTORY = """
import torch
from torch import nn
from helper import WIDTH


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, WIDTH)

    def forward(self, x):
        return {"scores": self.layer(x).tanh()}


def make():
    torch.manual_seed(0)
    return Net()


def make_with_inputs():
    return make(), (torch.randn(2, 8),)


def broken():
    raise ValueError("no such luck")


def nothing():
    return 7
"""


class Trap:
    """A pickle of this writes a file when it is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.path}",)


@pytest.fixture
def factory(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("WIDTH = 3\n")
    (tmp_path / "net.py").write_text(FACTORY)
    return tmp_path / "net.py"


def built(tmp_path: Path, *arguments: Any, **options: Any) -> dict[str, Any]:
    made = coldpress.build(
        *arguments, out=tmp_path / "out", precision="fp32", quick=True, package="none", **options
    )
    (model,) = made.manifest["models"].values()
    assert model["drift"]["total"] <= 0.001
    found: dict[str, Any] = model
    return found


def refused(model: Any, tmp_path: Path, **options: Any) -> str:
    """The message that a build ends with; nothing may be left of it."""
    with pytest.raises(ColdpressError) as caught:
        coldpress.build(model, out=tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
    return str(caught.value)


def test_a_factory_with_its_inputs(factory: Path, tmp_path: Path) -> None:
    model = built(tmp_path, module=f"{factory}:make_with_inputs")
    assert (model["task"], model["kind"]) == ("tensors", "module")
    assert [one["name"] for one in model["outputs"]] == ["scores"]


@pytest.mark.parametrize("ending", ["safetensors", "pt"])
def test_a_factory_with_weights_and_inputs_from_files(ending: str, factory: Path, tmp_path: Path) -> None:
    weights, inputs = tmp_path / f"weights.{ending}", tmp_path / "inputs.npz"
    tensors = {"layer.weight": torch.randn(3, 8), "layer.bias": torch.randn(3)}
    save_file(tensors, weights) if ending == "safetensors" else torch.save({"state_dict": tensors}, weights)
    np.savez(inputs, x=np.zeros((1, 8), np.float32))
    done = subprocess.run(
        [
            *(COLDPRESS, "build", str(weights), "--module", f"{factory}:make", "--inputs", str(inputs)),
            *("--dynamic", "x:0", "--precision", "fp32", "--quick", "--package", "none"),
            *("--out", str(tmp_path / "out")),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    artifact = coldpress.Artifact.open(tmp_path / "out")
    answer = artifact.function()({"inputs": {"x": [[1.0] * 8]}})["outputs"]["scores"][0]
    expected = torch.tanh(tensors["layer.weight"].sum(1) + tensors["layer.bias"])
    assert answer == pytest.approx(expected.tolist(), abs=1e-5)


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("net.py", "it is package.module:factory or path/file.py:factory"),
        ("missing.py:make", "which is not there"),
        ("net.py:other", "has no function 'other'; it has: "),
        ("net.py:broken", "failed: ValueError: no such luck"),
        ("net.py:nothing", "returned a int, not an nn.Module"),
        ("net.py:make", "nobody says what Net is called with"),
        ("no.such.package:make", "cannot be imported: ModuleNotFoundError"),
    ],
)
def test_a_factory_that_is_not_one(named: str, message: str, factory: Path, tmp_path: Path) -> None:
    place = named if named.startswith("no.") else f"{factory.parent}/{named}"
    assert message in refused(None, tmp_path, module=place)


def test_weights_that_do_not_fit(factory: Path, tmp_path: Path) -> None:
    save_file({"layer.weight": torch.zeros(2, 2)}, tmp_path / "weights.safetensors")
    message = refused(tmp_path / "weights.safetensors", tmp_path, module=f"{factory}:make_with_inputs")
    assert "does not fit" in message
    assert "holds weights alone" in refused(tmp_path / "weights.safetensors", tmp_path)


@pytest.mark.parametrize("text", ["x", "x:", ":1", "x:-1", "x:one", "x:0,,y:1"])
def test_axes_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="it is input:axis"):
        read_dynamic(text)
    assert read_dynamic("x:0,x:2, y:1") == {"x": (0, 2), "y": (1,)}


def program(path: Path) -> None:
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    dynamic = ({0: torch.export.Dim("batch")},)
    torch.export.save(torch.export.export(net, (torch.randn(3, 4),), dynamic_shapes=dynamic), path)


@pytest.mark.filterwarnings("ignore")
def test_an_exported_program(tmp_path: Path) -> None:
    program(tmp_path / "net.pt2")
    model = built(tmp_path, tmp_path / "net.pt2")
    assert model["kind"] == "torch.export program"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("how", ["inputs", "weights", "shape", "library", "nonsense"])
def test_an_exported_program_that_is_a_trap(how: str, tmp_path: Path) -> None:
    program(tmp_path / "good.pt2")
    sprung, bad = tmp_path / "sprung", tmp_path / "bad.pt2"
    with zipfile.ZipFile(tmp_path / "good.pt2") as good, zipfile.ZipFile(bad, "w") as made:
        for name in good.namelist():
            data = good.read(name)
            if how == "inputs" and "/sample_inputs/" in name:
                torch.save(Trap(sprung), tmp_path / "trap.pt")
                data = (tmp_path / "trap.pt").read_bytes()
            if how == "weights" and name.endswith("weights_config.json"):
                data = data.replace(b'"use_pickle":false', b'"use_pickle":true').replace(
                    b'"use_pickle": false', b'"use_pickle": true'
                )
            if how == "shape" and "/models/" in name:
                content = json.loads(data)
                content["trap"] = {"expr_str": f"__import__('os').system('touch {sprung}')"}
                data = json.dumps(content).encode()
            made.writestr(name, data)
        if how == "library":
            made.writestr("good/data/aotinductor/model/model.so", b"\x7fELF")
    if how == "nonsense":
        bad.write_bytes(b"PK no archive")
    message = refused(bad, tmp_path)
    wanted = {
        "inputs": "is a pickle that needs code to load",
        "weights": "is a pickle that needs code to load",
        "shape": "a size that is no plain expression",
        "library": "which is code",
        "nonsense": "is no archive that torch.export.save wrote",
    }
    assert wanted[how] in message
    assert not sprung.exists()


def graph(path: Path, location: str | None = None) -> None:
    weight = numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(4, 3), "weight")
    if location is not None:
        weight.ClearField("raw_data")
        weight.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", location), ("offset", "0"), ("length", "48")):
            entry = weight.external_data.add()
            entry.key, entry.value = key, value
    made = helper.make_graph(
        [helper.make_node("MatMul", ["x", "weight"], ["y"])],
        "net",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["batch", 3])],
        [weight],
    )
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)


def test_a_ready_graph(tmp_path: Path) -> None:
    graph(tmp_path / "net.onnx")
    model = built(tmp_path, tmp_path / "net.onnx")
    assert (model["kind"], model["inputs"][0]["shape"]) == ("onnx graph", [None, 4])
    answer = coldpress.Artifact.open(tmp_path / "out").function()({"inputs": [[1, 0, 0, 1]]})
    assert answer["outputs"]["y"] == [[9, 11, 13]]


def test_a_graph_with_its_weights_beside_it(tmp_path: Path) -> None:
    (tmp_path / "net.bin").write_bytes(np.ones(12, np.float32).tobytes())
    graph(tmp_path / "net.onnx", "net.bin")
    built(tmp_path, tmp_path / "net.onnx")


@pytest.mark.parametrize("how", ["above", "absolute", "link", "missing"])
def test_a_graph_that_reaches_out_of_its_folder(how: str, tmp_path: Path) -> None:
    outside, inside = tmp_path / "secret.bin", tmp_path / "model"
    outside.write_bytes(bytes(48))
    inside.mkdir()
    (inside / "link.bin").symlink_to(outside)
    location = {"above": "../secret.bin", "absolute": str(outside), "link": "link.bin", "missing": "no.bin"}[how]
    graph(inside / "net.onnx", location)
    message = refused(inside / "net.onnx", tmp_path)
    assert ("which is not there" if how == "missing" else "outside of its own folder: refused") in message


def test_a_file_that_is_no_graph(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"not a graph")
    assert "cannot be read as ONNX" in refused(tmp_path / "net.onnx", tmp_path)


@pytest.mark.parametrize("name", ["model.pt", "model.pth", "pytorch_model.bin"])
def test_a_malicious_pickle(name: str, tmp_path: Path) -> None:
    with (tmp_path / name).open("wb") as file:
        pickle.dump(Trap(tmp_path / "sprung"), file)
    assert "is a pickle that needs code to load" in refused(tmp_path / name, tmp_path)
    torch.save({"weight": Trap(tmp_path / "sprung")}, tmp_path / name)
    assert "is a pickle that needs code to load" in refused(tmp_path / name, tmp_path)
    assert not (tmp_path / "sprung").exists()


def test_a_folder_of_plain_pickles(tiny_folder: Path, tmp_path: Path) -> None:
    """Old models come as pytorch_model.bin: read without running anything."""
    from safetensors.torch import load_file

    folder = tmp_path / "old"
    shutil.copytree(tiny_folder, folder)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    model = built(tmp_path, folder)
    assert model["task"] == "embeddings"


def test_a_folder_with_a_malicious_pickle(tiny_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bad"
    shutil.copytree(tiny_folder, folder)
    (folder / "model.safetensors").unlink()
    torch.save(Trap(tmp_path / "sprung"), folder / "pytorch_model.bin")
    assert "is a pickle that needs code to load" in refused(folder, tmp_path)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("ending", ["zip", "tar.gz"])
def test_a_folder_in_an_archive(ending: str, tiny_folder: Path, tmp_path: Path) -> None:
    kind = {"zip": "zip", "tar.gz": "gztar"}[ending]
    path = shutil.make_archive(str(tmp_path / "tiny"), kind, tiny_folder.parent, tiny_folder.name)
    with find(path, Options()) as source:
        assert (source.name, source.task) == ("tiny", "embeddings")


@pytest.mark.parametrize("name", ["../evil.txt", "/tmp/coldpress-evil.txt", "a/../../evil.txt", "C:/evil.txt"])
@pytest.mark.parametrize("ending", ["zip", "tar"])
def test_an_archive_that_reaches_out_of_its_folder(name: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"slip.{ending}"
    (tmp_path / "file").write_text("evil")
    if ending == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("config.json", "{}")
            archive.writestr(name, "evil")
    else:
        with tarfile.open(path, "w") as archive:
            archive.addfile(tarfile.TarInfo(name))
    before = set(tmp_path.rglob("*"))
    message = refused(path, tmp_path)
    assert "leads outside of its folder: refused" in message
    assert set(tmp_path.rglob("*")) == before
    assert not Path("/tmp/coldpress-evil.txt").exists()


def test_an_archive_with_a_link(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "link.tar", "w") as archive:
        info = tarfile.TarInfo("model.safetensors")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(info)
    assert "which is a link or a device: refused" in refused(tmp_path / "link.tar", tmp_path)


def test_an_archive_that_is_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", bytes(2_000_000))
    monkeypatch.setattr("coldpress.intake.archive.MOST_BYTES", 1_000_000)
    assert "unpacks to 2000000 bytes; the limit is 1000000" in refused(tmp_path / "bomb.zip", tmp_path)


def test_files_that_nobody_knows(tmp_path: Path) -> None:
    (tmp_path / "model.h5").touch()
    with pytest.raises(ModelNotFound, match="no model is known to come as"):
        find(tmp_path / "model.h5", Options())


@pytest.mark.filterwarnings("ignore")
def test_torchscript_runs_only_when_asked_and_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = torch.jit.trace(nn.Sequential(nn.Linear(4, 2), nn.Tanh()), torch.randn(1, 4))  # type: ignore[no-untyped-call]
    net.save(str(tmp_path / "net.pt"))
    assert "Where you trust it: --allow-torchscript" in refused(tmp_path / "net.pt", tmp_path)
    assert "give --inputs FILE" in refused(tmp_path / "net.pt", tmp_path, allow_torchscript=True)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    model = built(tmp_path, tmp_path / "net.pt", allow_torchscript=True, inputs=torch.randn(1, 4))
    assert model["code_that_ran"] == "torchscript"


def test_a_tokenizer_of_another_model(tiny_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    shutil.copytree(tiny_folder, folder)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["one-too-many"] = 99_999
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    assert "it has 100000 tokens, and the model's vocabulary 30522" in refused(folder, tmp_path)
    words = tokenizer["model"]["vocab"]
    tokenizer["model"]["vocab"] = {word: at for word, at in words.items() if at < 28_996}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    assert "it has 28996 tokens, and the model's vocabulary 30522" in refused(folder, tmp_path)


def test_a_folder_without_a_tokenizer(tiny_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "dumb"
    shutil.copytree(tiny_folder, folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        (folder / name).unlink(missing_ok=True)
    assert "has no tokenizer" in refused(folder, tmp_path)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("LlamaForCausalLM", "--task embeddings"),
        ("T5ForConditionalGeneration", "--task embeddings"),
        ("WhisperForConditionalGeneration", "--task tensors"),
        ("Wav2Vec2ForCTC", "--task tensors"),
    ],
)
def test_what_generates_is_refused_by_name(name: str, instead: str, tiny_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny_folder, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"architectures": [name]}))
    message = refused(folder, tmp_path)
    assert name in message
    assert instead in message


def test_a_head_that_the_weights_do_not_have(tiny_folder: Path, tmp_path: Path) -> None:
    """It would be made up at random, and nobody would notice."""
    message = refused(tiny_folder, tmp_path, task="text-classification")
    assert "have no classifier.bias" in message
    with pytest.raises(UsageError, match="--task is 'translation'; it can be: embeddings"):
        coldpress.build(tiny_folder, out=tmp_path / "out", task="translation")


def test_broken_files_have_their_reason(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(b"PK nothing")
    with pytest.raises(IntakeError, match="cannot be read as tensors"):
        from coldpress.intake.tensors_file import load_tensors

        load_tensors(tmp_path / "x.npz")
    with pytest.raises(UnsupportedModel, match="not weights by name"):
        from coldpress.intake.tensors_file import state_dict

        torch.save([torch.zeros(1)], tmp_path / "list.pt")
        state_dict(tmp_path / "list.pt")
