"""A zip of the function, the same bytes each time: sorted names, fixed modes and times, one compressor.

`zipfile` compresses with the system's zlib, whose output differs between machines, so the
entries are written here: libdeflate's best level, and five records of a format from 1989.
"""

import struct
import zlib
from collections.abc import Callable
from pathlib import Path, PurePath, PurePosixPath

import deflate

_LEVEL = 12
_DEFLATED = 8
_STORED = 0
_MADE_BY_UNIX = 3 << 8 | 20
_VERSION = 20
_UTF8 = 1 << 11
_DATE, _TIME = 33, 0  # 1980-01-01 00:00, the first moment that a zip can name
_LARGEST = 0xFFFFFFFF

_LOCAL = struct.Struct("<IHHHHHIIIHH")
_CENTRAL = struct.Struct("<IHHHHHHIIIHHHHHII")
_END = struct.Struct("<IHHHHIIH")


def write_zip(
    root: Path,
    target: Path,
    say: Callable[[str], None],
    *,
    below: str = "",
    keep: Callable[[PurePath], bool] = lambda path: True,
) -> int:
    """Zip the files of `root` that are to be kept into `target`, `below` a folder there; returns its size."""
    central = []
    with target.open("xb") as file:
        for path in sorted(path for path in root.rglob("*") if path.is_file()):
            inside = path.relative_to(root)
            if not keep(inside):
                continue
            name = PurePosixPath(below, inside).as_posix().encode()
            say(f"compressing {inside}")
            data = path.read_bytes()
            packed = deflate.deflate_compress(data, _LEVEL)
            method = _DEFLATED if len(packed) < len(data) else _STORED
            body = packed if method == _DEFLATED else data
            if max(len(data), file.tell() + len(body)) > _LARGEST:
                raise ValueError(f"{path} is too large for a zip of at most 4 GB")
            facts = (_UTF8, method, _TIME, _DATE, zlib.crc32(data), len(body), len(data), len(name), 0)
            mode = (0o100000 | (0o755 if path.stat().st_mode & 0o100 else 0o644)) << 16
            central.append(
                _CENTRAL.pack(0x02014B50, _MADE_BY_UNIX, _VERSION, *facts, 0, 0, 0, mode, file.tell()) + name
            )
            file.write(_LOCAL.pack(0x04034B50, _VERSION, *facts) + name)
            file.write(body)
        start = file.tell()
        file.write(b"".join(central))
        size = file.tell() - start
        file.write(_END.pack(0x06054B50, 0, 0, len(central), len(central), size, start, 0))
    return target.stat().st_size
