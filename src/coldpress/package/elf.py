"""Strip shared libraries without binutils: the same bytes on every machine, for every architecture.

A loader reads the segments that the program headers name and nothing else. Debug information, the
symbol table and the section headers lie behind them and can go.
"""

import struct

_MACHINES = {62: "x86_64", 183: "arm64"}
_HEADER_SIZE = 64
_SEGMENT_SIZE = 56


class NotElf(ValueError):
    """The bytes are not a 64-bit little-endian ELF file."""


def machine(data: bytes) -> str:
    """The architecture that a library is for."""
    _check(data)
    (number,) = struct.unpack_from("<H", data, 18)
    return _MACHINES.get(number, f"machine {number}")


def strip(data: bytes) -> bytes:
    """`data` without all that lies behind its last segment."""
    _check(data)
    (segments,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    end = segments + size * count
    if size != _SEGMENT_SIZE or end > len(data):
        raise NotElf("its program headers are damaged")
    for at in range(count):
        offset, _, _, stored = struct.unpack_from("<QQQQ", data, segments + at * size + 8)
        end = max(end, offset + stored)
    if end > len(data):
        raise NotElf("a segment reaches past its end")
    kept = bytearray(data[:end])
    struct.pack_into("<Q", kept, 40, 0)  # where section headers begin,
    struct.pack_into("<HHH", kept, 58, 0, 0, 0)  # how large and how many they are
    return bytes(kept)


def _check(data: bytes) -> None:
    if len(data) < _HEADER_SIZE or data[:6] != b"\x7fELF\x02\x01":
        raise NotElf("not a 64-bit little-endian ELF file")
