"""The image: a base, our layers on it, and two documents that say so. One plain manifest, nothing beside it."""

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coldpress.errors import ColdpressError, TooLarge, UsageError
from coldpress.package.oci.base import CONFIG, LAYER, MANIFEST, Base
from coldpress.package.oci.blobs import MOST_BYTES, Descriptor
from coldpress.package.oci.layer import ROOT, Layer, write_layer
from coldpress.package.oci.reference import Reference
from coldpress.progress import Say
from coldpress.version import __version__

#: what a layer holds, from what changes least to what changes most
LAYERS = {
    "engine": ("lib",),
    "runtime": ("bootstrap", "handler.py", "coldpress_runtime", "licenses"),
    "model": ("models", "code", "packages"),
}
MOST_MANIFEST = 25_400
_UNPACKED = "coldpress.unpacked"
_CREATED = "1980-01-01T00:00:00Z"
#: a base that is not AWS's must say that its functions may be restored from a snapshot
_LABELS = {"com.amazonaws.lambda.feature.snapstart": "Allow"}


@dataclass(frozen=True)
class Image:
    """An image whose own blobs lie in a layout; those of its base may still be where they came from."""

    layout: Path
    manifest: dict[str, Any]
    digest: str

    @property
    def config(self) -> Descriptor:
        return Descriptor.of(self.manifest["config"])

    @property
    def layers(self) -> list[Descriptor]:
        return [Descriptor.of(entry) for entry in self.manifest["layers"]]

    @property
    def unpacked(self) -> int:
        """Bytes of all layers before compression, which is what Lambda limits."""
        return int(self.manifest["annotations"][_UNPACKED])

    @property
    def encoded(self) -> bytes:
        return self.blob(self.digest.removeprefix("sha256:")).read_bytes()

    def blob(self, name: str) -> Path:
        return self.layout / "blobs" / "sha256" / name

    @property
    def origin(self) -> Reference | None:
        """The base that it was made on, as its own annotations say."""
        said = self.manifest.get("annotations", {})
        name, digest = (
            said.get("org.opencontainers.image.base.name"),
            said.get("org.opencontainers.image.base.digest"),
        )
        return Reference.parse(str(name)).at(str(digest)) if name and digest else None


def make_image(function: Path, name: str, base: Base, layout: Path, say: Say) -> Image:
    """Lay `function` on `base`, as a layout that every tool reads."""
    blobs = layout / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    layers = [
        write_layer(title, function, paths, blobs, say) for title, paths in _split(function).items() if paths
    ]
    for layer in base.layers:
        shutil.copyfile(base.blob(layer, say), blobs / layer.name)
    config = _put(blobs, CONFIG, _config(base, layers))
    entries = [*(layer.entry() for layer in base.layers), *(_titled(layer) for layer in layers)]
    total = sum(layer.unpacked for layer in layers) + sum(_unpacked(blobs / layer.name) for layer in base.layers)
    annotations = {"org.opencontainers.image.title": name, _UNPACKED: str(total)}
    if base.origin is not None:
        annotations |= {
            "org.opencontainers.image.base.digest": str(base.origin.digest),
            "org.opencontainers.image.base.name": f"{base.origin.registry}/{base.origin.repository}",
        }
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config.entry(),
        "layers": entries,
        "annotations": annotations,
    }
    written = _put(blobs, MANIFEST, manifest)
    if written.size > MOST_MANIFEST:
        raise UsageError(
            f"the manifest has {written.size} bytes, Lambda takes {MOST_MANIFEST}: take a --base with fewer layers"
        )
    if total > MOST_BYTES:
        raise TooLarge(
            f"the image has {total / 1e9:.1f} GB unpacked, Lambda takes {MOST_BYTES / 1e9:.0f}: take smaller ones"
        )
    platform = {"architecture": base.config["architecture"], "os": "linux"}
    index = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [
            written.entry()
            | {"annotations": {"org.opencontainers.image.ref.name": "latest"}, "platform": platform}
        ],
    }
    (layout / "index.json").write_bytes(_encoded(index))
    (layout / "oci-layout").write_bytes(_encoded({"imageLayoutVersion": "1.0.0"}))
    return Image(layout, manifest, written.digest)


def open_image(layout: Path) -> Image:
    """An image that was made before."""
    try:
        index = json.loads((layout / "index.json").read_text(encoding="utf-8"))
        (entry,) = index["manifests"]
        digest = Descriptor.of(entry).digest
        data = (layout / "blobs" / "sha256" / digest.removeprefix("sha256:")).read_bytes()
        manifest: dict[str, Any] = json.loads(data)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ColdpressError(
            f"{layout} is no image: {error}. Make one with: coldpress build … --package image"
        ) from None
    if f"sha256:{hashlib.sha256(data).hexdigest()}" != digest:
        raise ColdpressError(f"the manifest in {layout} was changed: build it again")
    return Image(layout, manifest, digest)


def layer_of(name: str) -> str:
    """The layer that what lies under this name at the task root belongs to; what is not known is the model's."""
    return next((title for title, names in LAYERS.items() if name in names), "model")


def _unpacked(layer: Path) -> int:
    """What a gzip file says of itself in its last four bytes; for a base's layers that is all of it."""
    with layer.open("rb") as file:
        file.seek(-4, 2)
        return int.from_bytes(file.read(4), "little")


def _split(function: Path) -> dict[str, list[Path]]:
    """The function's files by layer; none may be forgotten."""
    parts: dict[str, list[Path]] = {title: [] for title in LAYERS}
    for path in sorted(function.rglob("*")):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise ColdpressError(f"{path} is neither a file nor a folder, and is not packed")
        if path.is_file():
            parts[layer_of(path.relative_to(function).parts[0])].append(path)
    return parts


def _config(base: Base, layers: list[Layer]) -> dict[str, Any]:
    made = {key: value for key, value in base.config.items() if key in ("architecture", "os", "variant", "author")}
    run = dict(base.config.get("config") or {})
    run |= {
        "Entrypoint": [f"/{ROOT}/bootstrap"],
        "WorkingDir": f"/{ROOT}",
        "Labels": {**(run.get("Labels") or {}), **_LABELS},
    }
    run.pop("Cmd", None)  # the base's is for its own entrypoint
    history = [
        {"created": _CREATED, "created_by": f"coldpress {__version__}", "comment": layer.title} for layer in layers
    ]
    return made | {
        "created": _CREATED,
        "config": run,
        "rootfs": {
            "type": "layers",
            "diff_ids": [*base.config["rootfs"].get("diff_ids", []), *(layer.diff_id for layer in layers)],
        },
        "history": [*base.config.get("history", []), *history],
    }


def _titled(layer: Layer) -> dict[str, Any]:
    assert layer.blob.kind == LAYER
    return layer.blob.entry() | {"annotations": {"org.opencontainers.image.title": layer.title}}


def _put(blobs: Path, kind: str, content: dict[str, Any]) -> Descriptor:
    data = _encoded(content)
    name = hashlib.sha256(data).hexdigest()
    (blobs / name).write_bytes(data)
    return Descriptor(kind, f"sha256:{name}", len(data))


def _encoded(content: dict[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":"), sort_keys=True).encode()
