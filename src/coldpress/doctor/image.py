"""An image as Lambda wants it: one manifest for one architecture, gzip layers, nothing beside it.

What docker writes by default is an index with attestations, and Lambda refuses that with "image manifest, config
or layer media type not supported".
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coldpress.doctor.case import Case
from coldpress.doctor.finding import Finding, few, green, red
from coldpress.package.oci.base import LAYER, PLATFORMS
from coldpress.package.oci.image import MOST_MANIFEST

_LAYERS = (LAYER, "application/vnd.docker.image.rootfs.diff.tar.gzip")
_REFERENCE = "vnd.docker.reference.type"
#: an index within an index within an index is nobody's image
_DEEPEST = 4
#: images have a handful; an index that names itself has no end
_MOST_DOCUMENTS = 200
#: no document of an image is larger than a few kilobytes; what is larger is not read
_MOST_READ = 4 << 20
_REFUSED = "Lambda refuses it: image manifest, config or layer media type not supported"
_ONE = "docker buildx build --platform {} --provenance=false --sbom=false …, or coldpress build … --package image"


@dataclass
class Layout:
    """What was found in an image layout."""

    #: documents that are lists of images, below the layout's own
    indexes: int = 0
    attestations: int = 0
    #: platform of each image, as os/architecture
    platforms: list[str] = field(default_factory=list)
    #: types of layers that are not gzip
    layers: list[str] = field(default_factory=list)
    #: bytes of the largest manifest
    manifest_bytes: int = 0
    documents: int = 0


def read_layout(folder: Path) -> Layout:
    """Everything below index.json. What is missing or damaged is an error that names the file."""
    found = Layout()
    index = _document(folder / "index.json")
    for entry in _entries(index, "manifests", "index.json"):
        _follow(folder, entry, found, 0)
    return found


def one_image(case: Case) -> Finding | None:
    """Neither an index, nor attestations, nor several images."""
    layout = _layout(case)
    if layout is None:
        return None
    name, wrong = "image, one manifest", []
    if layout.indexes:
        wrong.append("an index of images instead of one")
    if layout.attestations:
        wrong.append(f"{layout.attestations} attestations")
    if len(layout.platforms) != 1:
        wrong.append(f"{len(layout.platforms)} images ({', '.join(layout.platforms) or 'none'})")
    if wrong:
        return red(name, "; ".join(wrong), why=_REFUSED, fix=_ONE.format(f"linux/{PLATFORMS.get(case.arch)}"))
    return green(name, "one, without an index or attestations")


def gzip_layers(case: Case) -> Finding | None:
    layout = _layout(case)
    if layout is None:
        return None
    name = "image, layers"
    if layout.layers:
        return red(
            name,
            f"{len(layout.layers)} layers are not gzip: {few(sorted(set(layout.layers)))}",
            why=_REFUSED,
            fix="docker buildx build --output type=image,compression=gzip,force-compression=true …",
        )
    return green(name, "gzip")


def image_architecture(case: Case) -> Finding | None:
    layout = _layout(case)
    if layout is None:
        return None
    wanted = f"linux/{PLATFORMS.get(case.settings.arch or case.arch)}"
    other = sorted({one for one in layout.platforms if one != wanted})
    name = "image, architecture"
    if other:
        return red(
            name,
            f"it is for {', '.join(other)}; the function is to run on {wanted}",
            why="the function ends with Runtime.InvalidEntrypoint: exec format error",
            fix=f"coldpress build … --package image --arch {case.settings.arch or case.arch}",
        )
    return green(name, wanted)


def manifest_size(case: Case) -> Finding | None:
    layout = _layout(case)
    if layout is None or layout.manifest_bytes <= MOST_MANIFEST:
        return None
    return red(
        "image, manifest",
        f"{layout.manifest_bytes:,} bytes; Lambda takes {MOST_MANIFEST:,}",
        why="Lambda refuses a longer one",
        fix="build on a base with fewer layers: coldpress build … --package image --base IMAGE",
    )


def _layout(case: Case) -> Layout | None:
    folder = case.artifact.image
    return None if folder is None else read_layout(folder)


def _follow(folder: Path, entry: dict[str, Any], found: Layout, depth: int) -> None:
    notes = entry.get("annotations")
    if isinstance(notes, dict) and _REFERENCE in notes:
        found.attestations += 1
        return
    digest = str(entry.get("digest", ""))
    path = folder / "blobs" / "sha256" / digest.removeprefix("sha256:").replace("/", "")
    found.documents += 1
    if depth > _DEEPEST or found.documents > _MOST_DOCUMENTS:
        raise ValueError(f"{path.name}: an index that goes on for more than {_MOST_DOCUMENTS} images")
    document = _document(path)
    if "manifests" in document:
        found.indexes += 1
        for inner in _entries(document, "manifests", path.name):
            _follow(folder, inner, found, depth + 1)
        return
    found.manifest_bytes = max(found.manifest_bytes, path.stat().st_size)
    kinds = [str(layer.get("mediaType")) for layer in _entries(document, "layers", path.name)]
    found.layers += [kind for kind in kinds if kind not in _LAYERS]
    found.platforms.append(_platform(folder, document))


def _platform(folder: Path, manifest: dict[str, Any]) -> str:
    """As the image's own config says, which is what counts; a registry's word for it may be missing."""
    config = manifest.get("config")
    digest = str(config.get("digest", "")) if isinstance(config, dict) else ""
    said = _document(folder / "blobs" / "sha256" / digest.removeprefix("sha256:").replace("/", ""))
    return f"{said.get('os')}/{said.get('architecture')}"


def _document(path: Path) -> dict[str, Any]:
    if path.stat().st_size > _MOST_READ:
        raise ValueError(f"{path.name} has {path.stat().st_size:,} bytes, more than any index or manifest")
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path.name} is no JSON: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path.name} is a {type(content).__name__}, not an object")
    return content


def _entries(document: dict[str, Any], name: str, where: str) -> list[dict[str, Any]]:
    entries = document.get(name)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f"{where} has {name!r} that is no list of objects")
    return entries


CHECKS = [one_image, gzip_layers, image_architecture, manifest_size]
