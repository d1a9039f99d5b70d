"""A layer: files of the function as tar and gzip, the same bytes on every machine, in little memory.

Names are sorted; owner, mode and time are fixed; the compressor is libdeflate, which takes whole pieces. A large
layer is a series of them, which is what the gzip format calls members; all but the largest are one.
"""

import hashlib
import io
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import deflate

from coldpress.package.oci.base import LAYER
from coldpress.package.oci.blobs import Descriptor
from coldpress.progress import Say

ROOT = "var/task"
PIECE = 64 << 20
#: up to this many bytes a layer is pressed as small as can be; larger weights hardly shrink, and cost minutes
_BEST, _BEST_UP_TO = 12, 100_000_000
_GOOD, _GOOD_UP_TO = 6, 400_000_000
_FAST = 1
_TIME = 315_532_800  # 1980-01-01, as in the zip


@dataclass(frozen=True)
class Layer:
    title: str
    blob: Descriptor
    #: of the tar, before it is compressed
    diff_id: str
    unpacked: int
    path: Path


def write_layer(title: str, root: Path, paths: list[Path], folder: Path, say: Say) -> Layer:
    """The files `paths` below `root` as a blob in `folder`, at the task root."""
    size = sum(path.stat().st_size for path in paths)
    level = _BEST if size <= _BEST_UP_TO else _GOOD if size <= _GOOD_UP_TO else _FAST
    target = folder / f".{title}.partial"
    plain, packed, done = hashlib.sha256(), hashlib.sha256(), 0
    with target.open("xb") as file:
        for piece in _pieces(root, paths):
            plain.update(piece)
            done += len(piece)
            member = deflate.gzip_compress(piece, level)
            packed.update(member)
            file.write(member)
            say(f"layer {title}: {done / 1e6:.0f} of {size / 1e6:.0f} MB")
    blob = Descriptor(LAYER, f"sha256:{packed.hexdigest()}", target.stat().st_size)
    path = folder / blob.name
    target.rename(path)
    return Layer(title, blob, f"sha256:{plain.hexdigest()}", done, path)


def _pieces(root: Path, paths: list[Path]) -> Iterator[bytes]:
    """The tar, cut: one buffer is all that is in memory."""
    buffer = bytearray()
    for part in _tar(root, paths):
        view = memoryview(part)
        while len(buffer) + len(view) >= PIECE:
            room = PIECE - len(buffer)
            buffer += view[:room]
            yield bytes(buffer)
            buffer.clear()
            view = view[room:]
        buffer += view
    if buffer:
        yield bytes(buffer)


def _tar(root: Path, paths: list[Path]) -> Iterator[bytes]:
    folders = {parent for path in paths for parent in path.relative_to(root).parents}
    names = {f"{ROOT}/{folder.as_posix()}".removesuffix("/."): None for folder in folders}
    files = {f"{ROOT}/{path.relative_to(root).as_posix()}": path for path in paths}
    for name, path in sorted((names | files).items()):
        entry = tarfile.TarInfo(name)
        entry.mtime = _TIME
        if path is None:
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            yield entry.tobuf(tarfile.PAX_FORMAT)
            continue
        entry.size = path.stat().st_size
        entry.mode = 0o755 if os.access(path, os.X_OK) and path.name == "bootstrap" else 0o644
        yield entry.tobuf(tarfile.PAX_FORMAT)
        yield from _file(path, entry.size)
    yield bytes(2 * tarfile.BLOCKSIZE)


def _file(path: Path, size: int) -> Iterator[bytes]:
    left = size
    with path.open("rb") as file:
        while left and (block := file.read(min(left, io.DEFAULT_BUFFER_SIZE << 7))):
            left -= len(block)
            yield block
    if left:
        raise OSError(f"{path} became shorter while it was packed")
    yield bytes(-size % tarfile.BLOCKSIZE)
