"""The page cache: throw a function's files out of it, and see which parts a start brought back."""

import ctypes
import mmap
import os
from pathlib import Path

CHUNK = 512 * 1024  # Lambda fetches images in chunks of this size
PAGE = mmap.PAGESIZE

_libc = ctypes.CDLL(None, use_errno=True)


def files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file() and path.stat().st_size)


def evict(root: Path) -> None:
    for path in files(root):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def chunks(root: Path) -> tuple[int, int]:
    """How many of the function's chunks have a page in memory now, and how many there are."""
    touched = total = 0
    for path in files(root):
        resident = _resident(path)
        step = CHUNK // PAGE
        for at in range(0, len(resident), step):
            total += 1
            touched += any(byte & 1 for byte in resident[at : at + step])
    return touched, total


def _resident(path: Path) -> bytes:
    size = path.stat().st_size
    with path.open("r+b") as file, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_WRITE) as mapped:
        pages = -(-size // PAGE)
        flags = (ctypes.c_ubyte * pages)()
        handle = ctypes.c_char.from_buffer(mapped)
        start = ctypes.addressof(handle)
        del handle  # a mapping cannot be closed while something points into it
        if _libc.mincore(ctypes.c_void_p(start), ctypes.c_size_t(size), flags):
            raise OSError(ctypes.get_errno(), f"mincore of {path}")
        return bytes(flags)
