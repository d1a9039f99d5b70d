"""Send an image away: to a registry, blobs first, manifest last; to another layout; to a file for docker load."""

import io
import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from time import sleep
from urllib.parse import urlencode, urljoin, urlsplit

from coldpress.errors import RegistryError, TargetError, UsageError
from coldpress.package.oci.base import MANIFEST
from coldpress.package.oci.blobs import Descriptor
from coldpress.package.oci.credentials import Credentials
from coldpress.package.oci.image import Image
from coldpress.package.oci.login import check_encrypted
from coldpress.package.oci.reference import Reference
from coldpress.package.oci.wire import TRIES, Body, Wire
from coldpress.progress import Say


def send(image: Image, target: str, say: Say) -> str:
    """To `target`: oci:FOLDER, docker-archive:FILE, or a registry's reference. Returns how to call it there."""
    kind, colon, place = target.partition(":")
    if colon and kind == "oci":
        return _copy(image, Path(place))
    if colon and kind == "docker-archive":
        return _archive(image, Path(place))
    return push(image, Reference.parse(target), say)


def push(
    image: Image,
    target: Reference,
    say: Say,
    pause: Callable[[float], None] = sleep,
    credentials: Credentials | None = None,
) -> str:
    """Safe to repeat: what the registry has already is not sent again."""
    if target.digest:
        raise UsageError(f"{target} is a digest, which the image has its own of: give a tag")
    wire = Wire(target, "pull,push", pause, credentials)
    origin = image.origin
    near = origin if origin is not None and origin.registry == target.registry else None
    if near is not None and near.repository != target.repository:
        wire.also_pull(near.repository)
    blobs = [*image.layers, image.config]
    for number, blob in enumerate(blobs, 1):
        say(f"{target}: blob {number} of {len(blobs)}, {blob.size / 1e6:.1f} MB")
        _push_blob(wire, image, blob, near)
    body = Body(image.encoded, MANIFEST)
    answer = wire.call("PUT", wire.url(f"manifests/{target.asked}"), good=(200, 201, 202), body=body)
    _check(answer.headers.get("docker-content-digest"), image.digest, target)
    say(f"{target.registry}/{target.repository}, {wire.sent / 1e6:.1f} MB sent")
    return str(target.at(image.digest))


def _push_blob(wire: Wire, image: Image, blob: Descriptor, near: Reference | None) -> None:
    place = wire.url(f"blobs/{blob.digest}")
    if wire.call("HEAD", place, good=(200, 404)).status == 200:
        return
    path = image.blob(blob.name)
    problem: RegistryError | None = None
    for _ in range(TRIES):
        question = {"mount": blob.digest, "from": near.repository} if near is not None else {}
        begin = wire.url("blobs/uploads/") + (f"?{urlencode(question)}" if question else "")
        answer = wire.call("POST", begin, good=(201, 202), headers={"content-length": "0"})
        if answer.status == 201:
            return  # mounted: the registry had it in the base's repository
        try:
            _upload(wire, answer.headers.get("location", ""), Body(path), blob)
            return
        except RegistryError as error:
            # An upload that broke off cannot be trusted: a new one begins, unless the registry refuses for good.
            if error.status in (400, 401, 403, 413):
                raise
            problem = error
    assert problem is not None
    raise problem


def _upload(wire: Wire, location: str, body: Body, blob: Descriptor) -> None:
    answer = wire.call("PATCH", _place(wire, location), good=(202, 204), body=body, tries=1)
    end = _place(wire, answer.headers.get("location") or location)
    end += ("&" if urlsplit(end).query else "?") + urlencode({"digest": blob.digest})
    answer = wire.call("PUT", end, good=(201, 204), headers={"content-length": "0"}, tries=1)
    _check(answer.headers.get("docker-content-digest"), blob.digest, wire.reference)


def _place(wire: Wire, location: str) -> str:
    if not location:
        raise RegistryError(f"{wire.reference.registry} does not say where to upload to")
    place = urljoin(f"{wire.reference.address}/v2/", location)
    check_encrypted(place, wire.reference)
    return place


def _check(said: str | None, digest: str, target: Reference) -> None:
    if said is not None and said != digest:
        raise RegistryError(
            f"{target.registry} says that it stored {said}, and was sent {digest}: do not use it", 400
        )


def _copy(image: Image, folder: Path) -> str:
    if folder.exists() and any(folder.iterdir()):
        raise TargetError(f"{folder} is not empty; choose another folder")
    shutil.copytree(image.layout, folder, dirs_exist_ok=True)
    return f"oci:{folder}@{image.digest}"


def _archive(image: Image, path: Path) -> str:
    """As `docker save` writes them; layers stay compressed, which every reader takes."""
    layers = [f"{layer.name}.tar.gz" for layer in image.layers]
    listing = json.dumps([{"Config": f"{image.config.name}.json", "RepoTags": None, "Layers": layers}]).encode()
    partial = path.with_name(f".{path.name}.partial")
    try:
        with tarfile.open(partial, "w", format=tarfile.PAX_FORMAT) as archive:
            members = {f"{image.config.name}.json": image.config.name}
            members |= {f"{layer.name}.tar.gz": layer.name for layer in image.layers}
            for name, blob in members.items():
                entry = tarfile.TarInfo(name)
                entry.size = image.blob(blob).stat().st_size
                with image.blob(blob).open("rb") as file:
                    archive.addfile(entry, file)
            entry = tarfile.TarInfo("manifest.json")
            entry.size = len(listing)
            archive.addfile(entry, io.BytesIO(listing))
        partial.rename(path)
    except OSError as error:
        raise TargetError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)
    return f"docker-archive:{path}@{image.digest}"
