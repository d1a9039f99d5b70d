"""Images as tools write them: those that Lambda refuses are found before they are pushed."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.doctor import Finding, Settings, examine
from coldpress.doctor.image import read_layout
from coldpress.package.oci.base import LAYER, open_base
from coldpress.package.oci.image import make_image

Found = Callable[..., Finding]

_INDEX = "application/vnd.oci.image.index.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_ZSTD = "application/vnd.oci.image.layer.v1.tar+zstd"
_ATTESTATION = {"vnd.docker.reference.type": "attestation-manifest"}


class Layout:
    """A layout that is written document by document."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.blobs = folder / "blobs" / "sha256"
        self.blobs.mkdir(parents=True)

    def put(self, content: object, kind: str, **more: object) -> dict[str, Any]:
        data = json.dumps(content).encode()
        name = hashlib.sha256(data).hexdigest()
        (self.blobs / name).write_bytes(data)
        return {"mediaType": kind, "digest": f"sha256:{name}", "size": len(data), **more}

    def image(self, architecture: str = "amd64", layer: str = LAYER, **more: object) -> dict[str, Any]:
        config = {"os": "linux", "architecture": architecture, "config": {}}
        described = self.put(config, "application/vnd.oci.image.config.v1+json")
        layers = [{"mediaType": layer, "digest": f"sha256:{'0' * 64}", "size": 1}]
        return self.put({"schemaVersion": 2, "config": described, "layers": layers}, _MANIFEST, **more)

    def index(self, entries: list[dict[str, Any]]) -> dict[str, Any]:
        return self.put({"schemaVersion": 2, "mediaType": _INDEX, "manifests": entries}, _INDEX)

    def close(self, *entries: dict[str, Any]) -> None:
        (self.folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": entries}))


@pytest.fixture
def with_image(demo: Path) -> tuple[Path, Layout]:
    """The artifact as if it had been packed as an image."""
    (demo / "function.zip").unlink()
    return demo, Layout(demo / "image")


def test_our_own_image(demo: Path, tmp_path: Path, found: Found) -> None:
    (demo / "function.zip").unlink()
    small = tmp_path / "function"
    small.mkdir()
    (small / "bootstrap").write_text("#!/bin/sh\n")
    make_image(small, "minilm", open_base("scratch", "x86_64", print), demo / "image", print)
    for name in ("image, one manifest", "image, layers", "image, architecture", "size, image", "package"):
        assert found(demo, name).level == "green"


def test_what_docker_writes_by_default(with_image: tuple[Path, Layout], found: Found) -> None:
    """buildx: an index in the index, with provenance beside the image."""
    folder, layout = with_image
    proof = layout.image("unknown", "application/vnd.in-toto+json", annotations=_ATTESTATION)
    layout.close(layout.index([layout.image(), proof]))
    finding = found(folder, "image, one manifest")
    assert finding.level == "red"
    assert "an index" in finding.what and "1 attestations" in finding.what
    assert "--provenance=false --sbom=false" in finding.fix
    assert "--platform linux/amd64" in finding.fix
    assert found(folder, "image, architecture").level == "green"


def test_two_architectures(with_image: tuple[Path, Layout], found: Found) -> None:
    folder, layout = with_image
    layout.close(layout.image("amd64"), layout.image("arm64"))
    finding = found(folder, "image, one manifest")
    assert finding.level == "red"
    assert "2 images (linux/amd64, linux/arm64)" in finding.what
    assert found(folder, "image, architecture").level == "red"


def test_layers_that_are_not_gzip(with_image: tuple[Path, Layout], found: Found) -> None:
    folder, layout = with_image
    layout.close(layout.image(layer=_ZSTD))
    finding = found(folder, "image, layers")
    assert finding.level == "red"
    assert "zstd" in finding.what
    assert "compression=gzip" in finding.fix
    assert found(folder, "image, one manifest").level == "green"


def test_an_image_for_another_cpu(with_image: tuple[Path, Layout], found: Found) -> None:
    folder, layout = with_image
    layout.close(layout.image("arm64"))
    finding = found(folder, "image, architecture")
    assert finding.level == "red"
    assert "--arch x86_64" in finding.fix


def test_an_image_that_is_too_large(with_image: tuple[Path, Layout], found: Found) -> None:
    folder, layout = with_image
    layout.close(layout.image())
    manifest = json.loads((folder / "coldpress.json").read_text())
    manifest["image"] = {"unpacked": 12_000_000_000}
    (folder / "coldpress.json").write_text(json.dumps(manifest))
    finding = found(folder, "size, image")
    assert finding.level == "red"
    assert "12.00 GB" in finding.what
    assert "--base" in finding.fix


def test_a_manifest_that_is_too_long(with_image: tuple[Path, Layout], found: Found) -> None:
    folder, layout = with_image
    config = layout.put({"os": "linux", "architecture": "amd64"}, "application/vnd.oci.image.config.v1+json")
    layers = [{"mediaType": LAYER, "digest": f"sha256:{'0' * 64}", "size": 1}] * 200
    layout.close(layout.put({"config": config, "layers": layers}, _MANIFEST))
    assert "fewer layers" in found(folder, "image, manifest").fix


def test_an_index_that_names_itself(with_image: tuple[Path, Layout]) -> None:
    """No digest can do so; a file that somebody wrote there can."""
    folder, layout = with_image
    name = "f" * 64
    entry = {"mediaType": _INDEX, "digest": f"sha256:{name}", "size": 1}
    (layout.blobs / name).write_text(json.dumps({"manifests": [entry] * 50}))
    layout.close(entry)
    whole = [one for one in examine(folder, Settings()) if one.name == "one image"]
    assert "goes on" in whole[0].what


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["manifests", "layers", "config", "digest", "mediaType", "annotations", "os"]), inner
        )
    ),
    max_leaves=20,
)


@given(json_values, st.binary(max_size=40))
def test_any_index_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: object, junk: bytes
) -> None:
    folder = tmp_path_factory.mktemp("layout")
    for data in (json.dumps(content).encode(), junk):
        (folder / "index.json").write_bytes(data)
        try:
            read_layout(folder)
        except (ValueError, OSError):
            continue
