"""Blobs by their digest: fetched once, checked, and kept; a broken download goes on where it stopped."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3

from coldpress import cache
from coldpress.errors import RegistryError
from coldpress.package.oci.reference import DIGEST
from coldpress.package.oci.wire import TRIES, Wire
from coldpress.progress import Say

_BLOCK = 1 << 20
#: of what an image may have in all
MOST_BYTES = 10_000_000_000


@dataclass(frozen=True)
class Descriptor:
    """What a manifest says of a blob."""

    kind: str
    digest: str
    size: int

    @classmethod
    def of(cls, entry: Any) -> "Descriptor":
        try:
            kind, digest, size = str(entry["mediaType"]), entry["digest"], entry["size"]
        except (KeyError, TypeError):
            raise RegistryError(f"a manifest holds {str(entry)[:80]!r}, which describes no blob") from None
        if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
            raise RegistryError(f"a manifest names a blob by {str(digest)[:80]!r}; only sha256 digests are known")
        if not isinstance(size, int) or not 0 <= size <= MOST_BYTES:
            raise RegistryError(f"a manifest has a blob of {size!r} bytes; an image has at most {MOST_BYTES}")
        return cls(kind, digest, size)

    @property
    def name(self) -> str:
        return self.digest.removeprefix("sha256:")

    def entry(self) -> dict[str, Any]:
        return {"mediaType": self.kind, "digest": self.digest, "size": self.size}


def fetch(wire: Wire, blob: Descriptor, say: Say) -> Path:
    """The file that holds `blob`, from the cache or from the registry."""
    place = cache.root() / "blob" / blob.name
    if (place / "data").is_file():
        os.utime(place)
        return place / "data"
    partial = place.parent / f".partial-{blob.name}"
    partial.mkdir(parents=True, exist_ok=True)
    data = partial / "data"
    _download(wire, blob, data, say)
    if (found := digest_of(data)) != blob.digest:
        data.unlink()
        raise RegistryError(
            f"{wire.reference.registry} gave {found} when asked for {blob.digest}: damaged, or changed on purpose"
        )
    try:
        partial.rename(place)
    except OSError:  # another build was quicker
        if not (place / "data").is_file():
            raise
    return place / "data"


def _download(wire: Wire, blob: Descriptor, data: Path, say: Say) -> None:
    for attempt in range(TRIES):
        have = data.stat().st_size if data.exists() else 0
        if have > blob.size:
            data.unlink()
            have = 0
        if have == blob.size and data.exists():
            return
        headers = {"range": f"bytes={have}-"} if have else {}
        answer = wire.call("GET", wire.url(f"blobs/{blob.digest}"), good=(200, 206), headers=headers, stream=True)
        try:
            with data.open("ab" if answer.status == 206 and have else "wb") as file:
                while block := answer.read1(_BLOCK):  # what came is kept, however the rest ends
                    if file.tell() + len(block) > blob.size:
                        raise RegistryError(
                            f"{wire.reference.registry} sends more than the {blob.size} bytes of {blob.digest}"
                        )
                    file.write(block)
                    say(
                        f"fetching {wire.reference.repository} {file.tell() / 1e6:.0f} of {blob.size / 1e6:.0f} MB"
                    )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None and not isinstance(error, ConnectionError):
                raise  # the disk's, not the network's
            if attempt == TRIES - 1:
                break
        finally:
            answer.release_conn()
    if not data.exists() or data.stat().st_size != blob.size:
        have = data.stat().st_size if data.exists() else 0
        raise RegistryError(
            f"{wire.reference.registry} gave {have} of {blob.size} bytes of {blob.digest} in {TRIES} tries; "
            "what came is kept: try again"
        )


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
