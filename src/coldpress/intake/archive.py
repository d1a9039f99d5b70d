"""A model's folder in an archive (.zip, .tar, .tar.gz), unpacked within limits, and nowhere but below one."""

import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from coldpress.errors import IntakeError, UnsupportedModel

ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz")
MOST_FILES = 10_000
MOST_BYTES = 20_000_000_000
_BLOCK = 1 << 20


class Entry(NamedTuple):
    name: str
    size: int
    plain: bool
    open: "IO[bytes] | None"


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """The one folder with a config.json inside, or all of it where there is none. Gone when the `with` ends."""
    with tempfile.TemporaryDirectory(prefix="coldpress-archive-") as folder:
        try:
            _unpack(path, Path(folder))
        except (tarfile.TarError, zipfile.BadZipFile, OSError, EOFError) as error:
            raise IntakeError(f"{path} cannot be unpacked: {error}") from None
        configs = sorted(Path(folder).glob("**/config.json"), key=lambda found: len(found.parts))
        yield configs[0].parent if configs else Path(folder)


def _unpack(path: Path, folder: Path) -> None:
    _check(path, _named(path))
    left = MOST_BYTES
    for entry in _entries(path):
        if entry.open is None:
            continue
        target = folder / PurePosixPath(entry.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        with entry.open as source, target.open("xb") as file:
            while block := source.read(_BLOCK):
                left -= len(block)
                if left < 0:  # whatever its table of contents said
                    raise UnsupportedModel(f"{path} unpacks to more than {MOST_BYTES} bytes, the limit")
                file.write(block)


def _check(path: Path, entries: list[Entry]) -> None:
    """Look at every name before anything is written."""
    if len(entries) > MOST_FILES:
        raise UnsupportedModel(f"{path} holds {len(entries)} files; the limit is {MOST_FILES}")
    total = sum(entry.size for entry in entries)
    if total > MOST_BYTES:
        raise UnsupportedModel(f"{path} unpacks to {total} bytes; the limit is {MOST_BYTES}")
    for entry in entries:
        parts = PurePosixPath(entry.name.replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts or ":" in entry.name.partition("/")[0] or "\0" in entry.name:
            raise UnsupportedModel(f"{path} holds {entry.name!r}, which leads outside of its folder: refused")
        if not entry.plain:
            raise UnsupportedModel(f"{path} holds {entry.name!r}, which is a link or a device: refused")


def _named(path: Path) -> list[Entry]:
    if path.name.endswith(".zip"):
        with zipfile.ZipFile(path) as archive:
            return [_zipped(info, None) for info in archive.infolist()]
    with tarfile.open(path) as archive:
        return [Entry(info.name, info.size, info.isfile() or info.isdir(), None) for info in archive]


def _entries(path: Path) -> Iterator[Entry]:
    if path.name.endswith(".zip"):
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                yield _zipped(info, None if info.is_dir() else archive.open(info))
        return
    with tarfile.open(path) as archive:
        for member in archive:
            yield Entry(member.name, member.size, True, archive.extractfile(member) if member.isfile() else None)


def _zipped(info: zipfile.ZipInfo, opened: "IO[bytes] | None") -> Entry:
    kind = info.external_attr >> 28  # the file type, where Unix wrote it: 8 a file, 4 a folder
    return Entry(info.filename, info.file_size, kind in (0, 4, 8), opened)
