"""What a function is packed as, and what weighs what."""

import json
import os
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn

import coldpress
from coldpress.artifact import Artifact
from coldpress.errors import RegistryError, UsageError
from coldpress.package import pack
from coldpress.package.oci.base import open_base
from coldpress.package.pack import Packing
from coldpress.package.weigh import limits, weigh

COLDPRESS = str(Path(sys.executable).parent / "coldpress")


def test_a_zip_where_it_fits(artifact: Artifact) -> None:
    assert artifact.zip is not None
    assert artifact.image is None


def test_an_image_where_it_does_not(tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is lowered, not the function made larger."""
    monkeypatch.setattr(pack, "UNZIPPED", 1_000_000)
    made = coldpress.build(tiny_folder, out=tmp_path / "out", quick=True, base="scratch")
    assert made.zip is None
    assert made.image is not None
    assert made.manifest["image"]["base"] is None
    assert made.manifest["image"]["unpacked"] >= made.manifest["sizes"]["function"]
    assert [limit.what for limit in limits(made)] == ["image, unpacked"]


def test_through_s3_is_said(tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Heard:
        def __init__(self) -> None:
            self.said: list[str] = []

        def stage(self, name: str) -> "Heard":
            return self

        def __enter__(self) -> "Heard":
            return self

        def __exit__(self, *how: object) -> None:
            pass

        def __call__(self, text: str) -> None:
            self.said.append(text)

    monkeypatch.setattr(pack, "DIRECT_ZIP", 1_000_000)
    heard = Heard()
    coldpress.build(tiny_folder, out=tmp_path / "out", quick=True, progress=heard)
    assert any("through S3 only" in text for text in heard.said)


def test_no_base_no_artifact(tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens there; what to do is said, and nothing stays behind."""
    monkeypatch.setattr(pack, "open_base", partial(open_base, pause=lambda seconds: None))
    with pytest.raises(RegistryError, match=r"An image needs its base: --base names another"):
        coldpress.build(tiny_folder, out=tmp_path / "out", quick=True, package="image", base="127.0.0.1:9/x:1")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("packing", "message"),
    [
        ({"kind": "tar"}, "--package is 'tar'"),
        ({"kind": "image", "layer": True}, "--layer is for zips"),
        ({"kind": "zip", "base": "scratch"}, "--base is for images"),
    ],
)
def test_what_does_not_go_together(packing: dict[str, str | bool], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Packing(**packing)  # type: ignore[arg-type]


def test_the_engine_as_a_layer(tiny_folder: Path, tmp_path: Path) -> None:
    made = coldpress.build(tiny_folder, out=tmp_path / "out", quick=True, layer=True)
    with (
        zipfile.ZipFile(made.path / "function.zip") as function,
        zipfile.ZipFile(made.path / "layer.zip") as layer,
    ):
        assert layer.namelist() == ["coldpress/lib/libpress.so"]
        assert not [name for name in function.namelist() if name.startswith("lib/")]
        function.extractall(tmp_path / "task")
        layer.extractall(tmp_path / "opt")
    # As Lambda lays them out: the layer at /opt, which only a mount of our own can show here.
    (tmp_path / "task/bootstrap").chmod(0o755)
    command = f'mount --bind {tmp_path}/opt /opt && exec {sys.executable} -c "$CODE"'
    code = (
        "import sys; sys.path.insert(0, sys.argv[0] or '.')\n"
        f"sys.path.insert(0, {str(tmp_path / 'task')!r})\n"
        "from coldpress_runtime.function import Function\n"
        f"print(len(Function({str(tmp_path / 'task')!r}).call({{'text': 'hi'}})['embeddings'][0]))"
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", command],
        env={"CODE": code, "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare" in done.stderr or "Operation not permitted" in done.stderr:
        pytest.skip("mounting takes root")
    assert done.stdout == "64\n", done.stderr
    assert made.changed_files() == []
    assert {limit.what for limit in limits(made)} == {"function.zip", "layer.zip", "unzipped"}


def test_what_weighs_what(artifact: Artifact) -> None:
    weights = weigh(artifact)
    assert weights[0].name == "models/minilm/model.press"
    assert sum(one.bytes for one in weights) == artifact.manifest["sizes"]["function"]
    assert all(one.packed <= one.bytes for one in weights)
    assert {one.part for one in weights} == {"engine", "runtime", "model"}
    assert all(limit.kept for limit in limits(artifact))


def test_size_by_command(artifact: Artifact, tmp_path: Path) -> None:
    shown = subprocess.run([COLDPRESS, "size", artifact.path], capture_output=True, text=True, check=True).stdout
    for word in ("model.press", "function.zip", "50.0 MB", "250.0 MB", "█"):
        assert word in shown
    said = subprocess.run([COLDPRESS, "size", artifact.path, "--json"], capture_output=True, text=True, check=True)
    assert {limit["what"] for limit in json.loads(said.stdout)["limits"]} == {"function.zip", "unzipped"}


@pytest.mark.slow
def test_three_hundred_megabytes_in_little_memory(tmp_path: Path) -> None:
    """Packing alone, in a process of its own: its peak, and that it says how far it is."""
    (tmp_path / "function/models/big").mkdir(parents=True)
    (tmp_path / "function/bootstrap").write_text("#!/bin/sh\n")
    generator = torch.Generator().manual_seed(0)
    with (tmp_path / "function/models/big/model.ort").open("wb") as file:
        for _ in range(30):
            nn.init.normal_(weights := torch.empty(2_500_000), std=0.02, generator=generator)
            file.write(weights.numpy().tobytes())
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from coldpress.package.oci.base import open_base; from coldpress.package.oci.image import make_image\n"
        "said = []; base = open_base('scratch', 'x86_64', said.append)\n"
        "make_image(Path('function'), 'big', base, Path('image'), said.append)\n"
        "print(len(said), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
    )
    # The peak of a process begins with its parent's: a shell in between has none.
    done = subprocess.run(
        ["sh", "-c", f'{sys.executable} -c "$CODE"'],
        env=os.environ | {"CODE": code},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    said, peak = map(int, done.stdout.split())
    assert said >= 5
    assert peak <= 500
