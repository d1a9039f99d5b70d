"""The image to build on: one manifest for one architecture, whatever its registry has beside it."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep
from typing import Any

from coldpress.errors import RegistryError, UsageError
from coldpress.package.oci.blobs import MOST_BYTES, Descriptor, fetch
from coldpress.package.oci.login import parsed
from coldpress.package.oci.reference import Reference
from coldpress.package.oci.wire import Wire
from coldpress.progress import Say

#: AWS's own; a function that runs on any Python gets the newest that all of them know
_AWS = "public.ecr.aws/lambda/python"
_NEWEST = "3.13"
SCRATCH = "scratch"
#: as images name architectures
PLATFORMS = {"x86_64": "amd64", "arm64": "arm64"}

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
_DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
#: the same bytes under two names
_LAYERS = (LAYER, "application/vnd.docker.image.rootfs.diff.tar.gzip")
_ACCEPT = {"accept": ", ".join((MANIFEST, _DOCKER_MANIFEST, *_INDEXES))}


@dataclass(frozen=True)
class Base:
    config: dict[str, Any]
    layers: tuple[Descriptor, ...] = ()
    #: where its blobs are, and the digest that it had there; None for nothing at all
    origin: Reference | None = None
    pause: Callable[[float], None] = field(default=sleep, compare=False)

    def blob(self, layer: Descriptor, say: Say) -> Path:
        assert self.origin is not None
        return fetch(Wire(self.origin, pause=self.pause), layer, say)


def default_base(python: str) -> str:
    return f"{_AWS}:{_NEWEST if python == 'any' else python}"


def open_base(name: str, arch: str, say: Say, pause: Callable[[float], None] = sleep) -> Base:
    """Look at the image called `name`; its layers are fetched when somebody needs them."""
    platform = PLATFORMS[arch]
    if name == SCRATCH:
        return Base({"architecture": platform, "os": "linux", "config": {}, "rootfs": {"type": "layers"}})
    reference = Reference.parse(name)
    say(f"asking for {reference}")
    wire = Wire(reference, pause=pause)
    manifest, digest = _manifest(wire, reference.asked)
    if manifest.get("mediaType") in _INDEXES or "manifests" in manifest:
        manifest, digest = _manifest(wire, _for_platform(manifest, platform, reference))
    layers = tuple(Descriptor.of(entry) for entry in _list(manifest, "layers"))
    for layer in layers:
        if layer.kind not in _LAYERS:
            raise UsageError(
                f"{reference} has a layer of type {layer.kind}, and Lambda takes gzip only; choose another --base"
            )
    if sum(layer.size for layer in layers) > MOST_BYTES:
        raise UsageError(
            f"{reference} is larger than the {MOST_BYTES} bytes of Lambda's limit; choose another --base"
        )
    origin = reference.at(digest)
    file = fetch(Wire(origin, pause=pause), Descriptor.of(manifest.get("config")), say)
    config = parsed(file.read_bytes(), f"the config of {reference}")
    if (config.get("os"), config.get("architecture")) != ("linux", platform):
        raise UsageError(
            f"{reference} is for {config.get('os')}/{config.get('architecture')}, not linux/{platform}; "
            "choose another --base or --arch"
        )
    if len(_list(config.get("rootfs") or {}, "diff_ids")) != len(layers):
        raise RegistryError(f"{reference}: its config and its manifest differ in how many layers there are")
    return Base(config, tuple(Descriptor(LAYER, layer.digest, layer.size) for layer in layers), origin, pause)


def _manifest(wire: Wire, asked: str) -> tuple[dict[str, Any], str]:
    answer = wire.call("GET", wire.url(f"manifests/{asked}"), headers=_ACCEPT)
    digest = f"sha256:{hashlib.sha256(answer.data).hexdigest()}"
    if asked.startswith("sha256:") and asked != digest:
        raise RegistryError(f"{wire.reference.registry} gave {digest} when asked for the manifest {asked}")
    return parsed(answer.data, f"the manifest of {wire.reference}"), digest


def _for_platform(index: dict[str, Any], platform: str, reference: Reference) -> str:
    """The one manifest for Linux on this architecture; attestations and the like are for none."""
    there = []
    for entry in _list(index, "manifests"):
        said = entry.get("platform") if isinstance(entry, dict) else None
        said = said if isinstance(said, dict) else {}
        there.append(f"{said.get('os')}/{said.get('architecture')}")
        if there[-1] == f"linux/{platform}":
            return Descriptor.of(entry).digest
    raise UsageError(f"{reference} has no image for linux/{platform}, only for {', '.join(there) or 'none'}")


def _list(content: dict[str, Any], name: str) -> list[Any]:
    found = content.get(name, [])
    if not isinstance(found, list):
        raise RegistryError(f"a manifest or config has {name!r} that is no list")
    return found
