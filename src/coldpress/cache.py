"""What was made or measured once, kept by what it was made from: a second build is quick.

A folder per thing, named by the hash of all that decides it, the code that makes it included. It is
made beside its place and moved there whole, so a build that is killed leaves nothing half-made.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from time import time
from typing import Any

MOST_BYTES = 10_000_000_000
_PARTIAL = ".partial-"
_DAY = 24 * 3600
#: whose versions decide what comes out
_LIBRARIES = ("torch", "transformers", "onnx", "onnxscript", "onnxruntime", "tokenizers")
_CODE = ("coldpress", "coldpress_runtime")
_CODE_ENDINGS = (".py", ".so", ".jsonl")


def root() -> Path:
    """Where things are kept: COLDPRESS_CACHE, or the user's cache folder."""
    asked = os.environ.get("COLDPRESS_CACHE")
    if asked:
        return Path(asked)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "coldpress"


def cached(kind: str, key: Any, make: Callable[[Path], None], *, whoever: bool = False) -> Path:
    """The folder that `make` filled for this `key`, now or before; by `whoever`, if that makes no difference."""
    place = root() / kind / digest([key, None if whoever else made_by()])
    if place.is_dir():
        os.utime(place)
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=place.parent))
    try:
        make(staging)
        try:
            staging.rename(place)
        except OSError:  # another build was quicker, with the same outcome
            if not place.is_dir():
                raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    _make_room(place)
    return place


def _make_room(newest: Path) -> None:
    """Remove what has not been used for longest, until the rest fits; never what was just made.

    What a killed build left half-made goes after a day: until then it may be under way."""
    for place in root().glob(f"*/{_PARTIAL}*"):
        if place.exists() and time() - place.stat().st_mtime > _DAY:
            shutil.rmtree(place, ignore_errors=True)
    others = [place for place in root().glob("*/[!.]*") if place != newest]  # what has a dot is still being made
    places = sorted(others, key=lambda one: one.stat().st_mtime if one.exists() else 0.0)
    sizes = {place: _size(place) for place in (*places, newest)}
    total = sum(sizes.values())
    for place in places:
        if total <= MOST_BYTES:
            return
        shutil.rmtree(place, ignore_errors=True)
        total -= sizes[place]


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def clean() -> int:
    """Remove everything that is kept; returns how many bytes that were."""
    place = root()
    size = _size(place)
    if place.is_dir():
        shutil.rmtree(place)
    return size


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


@cache
def made_by() -> str:
    """The code and the libraries that make what is kept; when they change, all is made anew."""
    seen = hashlib.sha256()
    for package in _CODE:
        folder = Path(str(files(package)))
        for path in sorted(folder.rglob("*")):
            if path.suffix in _CODE_ENDINGS:
                seen.update(f"{path.relative_to(folder)}:".encode())
                seen.update(path.read_bytes())
    for library in _LIBRARIES:
        try:
            seen.update(f"{library}={version(library)};".encode())
        except PackageNotFoundError:
            continue
    return seen.hexdigest()
