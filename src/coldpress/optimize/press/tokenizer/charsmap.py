"""SentencePiece's charsmap, taken apart: a double array of UTF-8 bytes, and the texts that they become."""

import struct

import numpy as np

from coldpress.optimize.press.tokenizer import graphemes
from coldpress.optimize.press.tokenizer.characters import REMOVED, sequence_of
from coldpress.optimize.press.tokenizer.frame import Words, refuse

_MAPPED, _BEGINS, _CLASS_SHIFT = 1 << 23, 1 << 24, 25
_LONGEST = 5  # bytes: what is longer is never looked up as a whole


def charsmap_table(charsmap: bytes) -> tuple[Words, list[int], Words]:
    """What each code point becomes and how it joins others; the sequences; and keys of several characters."""
    sequences: list[int] = []
    known: dict[str, int] = {}
    entries = graphemes.classes().astype(np.uint32) << np.uint32(_CLASS_SHIFT)
    keys = []
    for key, text in sorted(read_charsmap(charsmap).items()):
        becomes = REMOVED if not text else ord(text) if len(text) == 1 else sequence_of(text, sequences, known)
        point = ord(key[0])
        if len(key) == 1:
            entries[point] |= np.uint32(_MAPPED | (0 if text == key else becomes))
        else:
            entries[point] |= np.uint32(_BEGINS)
            number = int.from_bytes(key.encode(), "big")
            keys.append((number, _MAPPED | becomes))
    table = np.array([(number & 0xFFFFFFFF, number >> 32, entry) for number, entry in sorted(keys)], np.uint32)
    return entries, sequences, table


def read_charsmap(charsmap: bytes) -> dict[str, str]:
    """What stands in a charsmap, but for keys that are never looked up."""
    units, values = _parts(charsmap)
    found = {}
    # Walk all keys at once, a byte at a time: those that are so far alike are one node.
    keys, nodes = [b""], np.array([_offset(units[:1])[0]])
    labels = np.arange(1, 256, dtype=np.uint32)
    for _ in range(_LONGEST):
        places = nodes[:, None] ^ labels
        if places.size and places.max() >= len(units):
            raise refuse("its charsmap leads outside")
        parents, bytes_ = np.nonzero((units[places] & 0x800000FF) == labels)
        places = places[parents, bytes_]
        keys = [keys[parent] + bytes([byte + 1]) for parent, byte in zip(parents, bytes_, strict=True)]
        nodes = places ^ _offset(units[places])
        for at in np.flatnonzero(units[places] >> 8 & 1):
            found[keys[at]] = int(units[nodes[at]] & 0x7FFFFFFF)
    try:
        # A key that is one of SentencePiece's for what it writes is text; any other could never be found as such.
        return {key.decode(): _text(values, place) for key, place in found.items()}
    except UnicodeDecodeError:
        raise refuse("its charsmap has keys or values that are no text") from None


def _parts(charsmap: bytes) -> tuple[Words, bytes]:
    if len(charsmap) < 8:
        raise refuse("its charsmap is empty")
    (size,) = struct.unpack_from("<I", charsmap)
    size -= size % 4
    if not 4 <= size <= len(charsmap) - 4:
        raise refuse("its charsmap is cut off")
    return np.frombuffer(charsmap, np.uint32, size // 4, 4), charsmap[4 + size :]


def _offset(units: Words) -> Words:
    return (units >> np.uint32(10)) << ((units & np.uint32(1 << 9)) >> np.uint32(6))


def _text(values: bytes, place: int) -> str:
    if place > len(values):
        raise refuse("its charsmap leads outside")
    end = values.find(b"\0", place)
    return values[place : end if end >= 0 else len(values)].decode()
