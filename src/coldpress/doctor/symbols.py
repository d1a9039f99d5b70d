"""Which glibc a library needs, read from the library itself: its list of needed versions.

Packed libraries are stripped and have no sections, so the list is found as the loader finds it: by the program
headers, the dynamic table, and the addresses there.
"""

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path

from coldpress.package.elf import NotElf, machine

_HEADER = 64
_LOAD, _DYNAMIC = 1, 2
#: tags of the dynamic table
_END, _STRINGS, _NEEDED_VERSIONS, _HOW_MANY = 0, 5, 0x6FFFFFFE, 0x6FFFFFFF
_LONGEST_NAME = 64
#: a library has some dozens; a list that goes on is a damaged one
_MOST_ENTRIES = 10_000
_PREFIX = b"GLIBC_"

Buffer = bytes | mmap.mmap
#: (2, 34)
Version = tuple[int, ...]


def library_facts(path: Path) -> tuple[str, Version | None]:
    """A library's architecture, and the newest glibc that it asks for; NotElf if it is none."""
    if path.stat().st_size < _HEADER:
        raise NotElf(f"{path.name} is too short for a library")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return machine(data[:_HEADER]), newest_glibc(data)


def newest_glibc(data: Buffer) -> Version | None:
    """None for a library that asks for no version."""
    machine(data[:_HEADER])
    try:
        return max(_versions(data), default=None)
    except (struct.error, OverflowError):
        raise NotElf("its tables reach past its end") from None


def _versions(data: Buffer) -> Iterator[Version]:
    loaded, dynamic = _segments(data)
    tags = _dynamic(data, dynamic)
    if _NEEDED_VERSIONS not in tags or _STRINGS not in tags:
        return
    strings, at = _offset(loaded, tags[_STRINGS]), _offset(loaded, tags[_NEEDED_VERSIONS])
    seen = 0
    for _ in range(min(tags.get(_HOW_MANY, 0), _MOST_ENTRIES)):
        count, _, first, onward = struct.unpack_from("<HIII", _entry(data, at), 2)
        inner = at + first
        for _ in range(count):
            seen += 1
            if seen > _MOST_ENTRIES:
                raise NotElf(f"it names more than {_MOST_ENTRIES} versions")
            name, next_one = struct.unpack_from("<II", _entry(data, inner), 8)
            if (version := _version(data, strings + name)) is not None:
                yield version
            if not next_one:
                break
            inner += next_one
        if not onward:
            break
        at += onward


def _entry(data: Buffer, at: int) -> bytes:
    """Sixteen bytes, or an error: a slice past the end is shorter, and unpacking it fails."""
    return data[at : at + 16]


def _segments(data: Buffer) -> tuple[list[tuple[int, int, int]], tuple[int, int]]:
    """What is loaded, as (address, offset, size); and where the dynamic table lies, as (offset, size)."""
    (start,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    loaded, dynamic = [], (0, 0)
    for number in range(count):
        at = start + number * size
        (kind,) = struct.unpack_from("<I", data, at)
        offset, address, _, stored = struct.unpack_from("<QQQQ", data, at + 8)
        if kind == _LOAD:
            loaded.append((address, offset, stored))
        elif kind == _DYNAMIC:
            dynamic = offset, stored
    return loaded, dynamic


def _dynamic(data: Buffer, table: tuple[int, int]) -> dict[int, int]:
    offset, size = table
    tags: dict[int, int] = {}
    for at in range(offset, min(offset + size, len(data)) - 15, 16):
        tag, value = struct.unpack_from("<QQ", data, at)
        if tag == _END:
            break
        tags[tag] = value
    return tags


def _offset(loaded: list[tuple[int, int, int]], address: int) -> int:
    for start, offset, size in loaded:
        if start <= address < start + size:
            return offset + address - start
    raise NotElf(f"nothing is loaded at the address {address:#x}")


def _version(data: Buffer, at: int) -> Version | None:
    text = data[at : at + _LONGEST_NAME].split(b"\0", 1)[0]
    digits = text.removeprefix(_PREFIX)
    if not text.startswith(_PREFIX) or not all(part.isdigit() for part in digits.split(b".")):
        return None  # GLIBC_PRIVATE, or another library's own: GCC_3.0
    return tuple(map(int, digits.split(b".")))
