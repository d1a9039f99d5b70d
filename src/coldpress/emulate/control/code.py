"""A function's code: out of the zip that was sent, into a folder of its own, and nowhere else."""

import hashlib
import io
import os
import shutil
import stat
import time
import zipfile
import zlib
from base64 import b64decode, b64encode
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from coldpress.emulate.control import errors
from coldpress.emulate.control.s3 import fetch
from coldpress.emulate.control.store import Store, settle

#: Lambda's limits: as sent, and unpacked
LARGEST_ZIP = 50 * 1024 * 1024
LARGEST_UNPACKED = 250 * 1024 * 1024
#: of all versions of all functions
MOST_CODE = 75 * 1024**3
_PIECE = 1 << 20
#: what a zip that is none, or was cut, makes Python raise
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    FileExistsError,
    NotADirectoryError,
    IsADirectoryError,
    UnicodeError,
    OverflowError,
)


@dataclass(frozen=True)
class Code:
    #: SHA-256 in hexadecimal: the folder's name
    digest: str
    size: int

    @property
    def sha256(self) -> str:
        """As Lambda tells it."""
        return b64encode(bytes.fromhex(self.digest)).decode()


def zip_of(said: Any) -> bytes:
    """The zip in a request, or in the S3 that it names. Takes time: not for the event loop."""
    if not isinstance(said, dict):
        raise errors.invalid("Code is missing: send the zip itself, as ZipFile")
    if said.get("ImageUri"):
        raise errors.invalid(
            f"ImageUri {said['ImageUri']}: functions that are deployed here come as zips; "
            "an image is run by itself with: coldpress serve image:NAME"
        )
    if said.get("S3Bucket") or said.get("S3Key"):
        return fetch(said, LARGEST_UNPACKED)
    given = said.get("ZipFile")
    if not isinstance(given, str) or not given:
        raise errors.invalid("Code has no ZipFile: send the zip itself, as ZipFile")
    try:
        data = b64decode(given, validate=True)
    except ValueError:
        raise errors.malformed("ZipFile is not base64") from None
    if len(data) > LARGEST_ZIP:
        raise errors.invalid(f"Zipped size {len(data)} must be smaller than {LARGEST_ZIP} bytes")
    return data


def describe(data: bytes) -> Code:
    return Code(hashlib.sha256(data).hexdigest(), len(data))


def unpack(data: bytes, code: Code, store: Store) -> None:
    """Put it where it belongs, unless it is there. Takes time: not for the event loop."""
    target = store.code(code.digest)
    if target.is_dir():
        return
    staging = store.staging()
    try:
        _unpack(data, staging)
        bootstrap = staging / "bootstrap"
        if not bootstrap.is_file() or not os.access(bootstrap, os.X_OK):
            raise errors.invalid(
                "the zip has no executable `bootstrap` at its top: functions are started by it here; "
                "coldpress build writes one, and for others it is a program that speaks the Runtime API"
            )
        try:
            staging.rename(target)
        except OSError:  # somebody sent the same at the same time
            if not target.is_dir():
                raise
        settle(target.parent)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _unpack(data: bytes, root: Path) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(member, _inside(member.filename)) for member in archive.infolist()]
            folders = [(member, path) for member, path in members if member.is_dir()]
            left = LARGEST_UNPACKED
            for _, path in folders:
                (root / path).mkdir(parents=True, exist_ok=True)
            for member, path in members:
                if not member.is_dir() and not _is_link(member):
                    left -= _write(archive, member, root / path, left)
            for member, path in members:  # links last, so that nothing is ever written through one
                if _is_link(member):
                    _link(archive, member, root, path)
            for place, _, _ in os.walk(root):
                settle(Path(place))
            for member, path in reversed(folders):
                (root / path).chmod(_mode(member) or 0o755)
    except _BROKEN as error:
        raise errors.invalid(
            f"Could not unzip uploaded file ({error}). Please check your file, then try to upload again."
        ) from None
    root.chmod(0o755)


def _mode(member: zipfile.ZipInfo) -> int:
    return (member.external_attr >> 16) & 0o777


def _is_link(member: zipfile.ZipInfo) -> bool:
    return stat.S_ISLNK(member.external_attr >> 16)


def _inside(name: str) -> PurePosixPath:
    """A member's path, which must not lead out."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name or not path.parts:
        raise errors.invalid(f"the zip's member {name!r} would lie outside the function's folder")
    return path


def _write(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path, left: int) -> int:
    """Bytes written: counted as they come, since a header may say anything."""
    path.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    # Exclusive: a second member of the same name would change what was checked.
    with archive.open(member) as packed, path.open("xb") as file:
        while piece := packed.read(_PIECE):
            size += len(piece)
            if size > left:
                raise errors.invalid(f"Unzipped size must be smaller than {LARGEST_UNPACKED} bytes")
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    path.chmod(_mode(member) or 0o644)
    moment = time.mktime((*member.date_time, 0, 0, -1))
    os.utime(path, (moment, moment))
    return size


def _link(archive: zipfile.ZipFile, member: zipfile.ZipInfo, root: Path, path: PurePosixPath) -> None:
    leads = PurePosixPath(archive.read(member).decode())
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    ends = Path(os.path.normpath(place.parent / leads))
    # Climbing is for a path's beginning, and from a real folder: elsewhere it could climb out by another link.
    climbs_late = ".." in leads.parts[next((n for n, part in enumerate(leads.parts) if part != ".."), 0) :]
    through_a_link = place.parent.resolve() != place.parent
    if leads.is_absolute() or climbs_late or through_a_link or not ends.is_relative_to(root):
        raise errors.invalid(f"the zip's link {member.filename!r} leads to {leads}, outside the function's folder")
    place.symlink_to(leads)
