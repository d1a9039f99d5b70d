"""How each code point joins its neighbours, asked of `tokenizers` itself.

Its Precompiled normalizer works on grapheme clusters, by the Unicode version that was built into it. It tells
where clusters end: of a cluster under six bytes that begins with a character of its charsmap, all but that
character's replacement is lost. So a text is normalized with a charsmap of a few characters that become
themselves, and what is lost, or kept, tells how the unknown character joins.
"""

import functools
import struct
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from coldpress.errors import UnsupportedModel

CODE_POINTS = 0x110000

# The classes, as native/charsmap.c counts them.
OTHER, CONTROL, RETURN, LINE_FEED, HANGUL_L, HANGUL_V, HANGUL_T, HANGUL_LV, HANGUL_LVT = range(9)
PREPEND, SPACING, JOINER, PICTOGRAPH, CONSONANT, EXTEND, EXTEND_CONJUNCT, LINKER = range(9, 17)

_END = "\x01"  # a control character: what stands between two of them is a text of its own
_A, _ACUTE, _GRAVE, _ZWJ, _C, _KA, _VIRAMA = "a", "\u0301", "\u0300", "\u200d", "©", "क", "\u094d"
_BEFORE, _L, _V = "\u0600", "\u1100", "\u1161"
_LIKE = {_A: "b", _BEFORE: "\u0601"}  # two that are part of every question, and one that joins as they do
_SURROGATES = range(0xD800, 0xE000)
_CHUNK = 1024
# Where there may well be nothing but ideographs, private characters and free places: a sample is asked first.
_SPARSE = [(0x3400, 0xA000), (0xE000, 0xF900), (0xE1000, 0xF0000)]
_SPARSE += [(plane, plane + 0x10000) for plane in (*range(0x20000, 0xE0000, 0x10000), 0xF0000, 0x100000)]

# Questions: what is written before and after a character, and what becomes of that if it is like most.
_JOINS = (_A, "", _A, "")
_CONTROL = ("", _ACUTE + _GRAVE, "", _ACUTE + _GRAVE)  # a mark that begins a text swallows the next one
_PREPEND = ("", _A + _ACUTE, "", _A)
_PICTOGRAPH = ("", _ZWJ + _C + _ACUTE, "", _ZWJ + _C)
_CONSONANT = ("", _VIRAMA + _KA + _ACUTE, "", _VIRAMA + _KA)
_AFTER_L, _AFTER_V = (_BEFORE + _L, "", _BEFORE, ""), (_BEFORE + _V, "", _BEFORE, "")
_BEFORE_L, _BEFORE_V = ("", _L + _ACUTE, "", _L), ("", _V + _ACUTE, "", _V)
# Of those that join any letter before them.
_IN_EMOJI = (_C, _ZWJ + _C + _ACUTE, _C, _ZWJ + _C)
_LINKS = (_KA, _KA + _ACUTE, _KA, _KA)
_IN_CONJUNCT = (_KA, _VIRAMA + _KA + _ACUTE, _KA, _VIRAMA + _KA)


def charsmap(mapping: dict[str, str]) -> bytes:
    """A SentencePiece charsmap: a double array of the keys' bytes, and the texts they become.

    Every node has a block of 256 units to itself: simple, and small enough for small maps.
    """
    values, at = b"", {}
    for text in mapping.values():
        if text not in at:
            at[text] = len(values)
            values += text.encode() + b"\0"
    nodes = sorted({key.encode()[:length] for key in mapping for length in range(len(key.encode()) + 1)})
    block = {node: 256 * (number + 1) for number, node in enumerate(nodes)}
    units = np.zeros(256 * (len(nodes) + 1), np.uint32)
    for node in nodes:
        place = block[node[:-1]] ^ node[-1] if node else 0
        units[place] = (block[node] ^ place) << 10 | (node[-1] if node else 0)
    for key, text in mapping.items():
        parent = block[key.encode()[:-1]] ^ key.encode()[-1]
        units[parent] |= 1 << 8
        units[block[key.encode()]] = 1 << 31 | at[text]
    return struct.pack("<I", units.nbytes) + units.tobytes() + values


@functools.cache
def classes() -> NDArray[np.uint8]:
    """The class of every code point."""
    found = np.zeros(CODE_POINTS, np.uint8)
    points = _worth_asking()
    joining = _unlike(points, _JOINS)
    found[_unlike(points, _CONTROL)] = CONTROL
    for question, kind in ((_PREPEND, PREPEND), (_PICTOGRAPH, PICTOGRAPH), (_CONSONANT, CONSONANT)):
        found[_unlike(points, question)] = kind
    _hangul(found, sorted({*_unlike(points, _AFTER_L), *_unlike(points, _AFTER_V)} - set(joining)))
    _joining(found, joining)
    found[ord(_END)], found[ord("\r")], found[ord("\n")] = CONTROL, RETURN, LINE_FEED
    for asking, other in _LIKE.items():
        found[ord(asking)] = found[ord(other)]
    return found


def _worth_asking() -> list[int]:
    points: list[int] = []
    at = 0
    for start, end in sorted(_SPARSE):
        points += range(at, start)
        sample = range(start, end, 61)
        if any(_unlike(sample, question) for question in (_JOINS, _CONTROL, _PREPEND, _PICTOGRAPH, _CONSONANT)):
            points += range(start, end)
        at = end
    return [point for point in points if point not in _SURROGATES and chr(point) != _END]


def _hangul(found: NDArray[np.uint8], points: list[int]) -> None:
    after_l, after_v = set(_unlike(points, _AFTER_L)), set(_unlike(points, _AFTER_V))
    before_l, before_v = set(_unlike(points, _BEFORE_L)), set(_unlike(points, _BEFORE_V))
    for point in points:
        if point in before_l:
            found[point] = HANGUL_L
        elif point in after_v:
            found[point] = HANGUL_V if point in after_l else HANGUL_T
        else:
            found[point] = HANGUL_LV if point in before_v else HANGUL_LVT


def _joining(found: NDArray[np.uint8], points: list[int]) -> None:
    """Those that join any letter before them: what they let through tells them apart."""
    emoji, linkers = set(_unlike(points, _IN_EMOJI)), set(_unlike(points, _LINKS))
    conjunct = set(_unlike(points, _IN_CONJUNCT))
    for point in points:
        if chr(point) == _ZWJ:
            kind = JOINER
        elif point not in emoji:
            kind = SPACING
        else:
            kind = LINKER if point in linkers else EXTEND_CONJUNCT if point in conjunct else EXTEND
        if (point in conjunct) != (kind in (JOINER, EXTEND_CONJUNCT, LINKER)):
            raise UnsupportedModel(f"the tokenizer cannot be compiled: U+{point:04X} joins in an unknown way")
        found[point] = kind


@functools.cache
def _normalize() -> Callable[[str], str]:
    from tokenizers.normalizers import Precompiled

    known = (_A, _ACUTE, _C, _KA, _L, _V, _BEFORE)
    normalizer: Callable[[str], str] = Precompiled(charsmap({one: one for one in known})).normalize_str
    return normalizer


def _unlike(points: Sequence[int], question: tuple[str, str, str, str]) -> list[int]:
    """Those whose answer is not that of most characters."""
    before, after, still_before, still_after = question
    found = []
    for start in range(0, len(points), _CHUNK):
        chunk = points[start : start + _CHUNK]
        letters = [chr(point) for point in chunk]
        asked = before + (after + _END + before).join(letters) + after
        usual = still_before + (still_after + _END + still_before).join(letters) + still_after
        if (result := _normalize()(asked)) != usual:
            answers = zip(chunk, asked.split(_END), result.split(_END), strict=True)
            # Most keep all, or most lose something: those that do the other.
            found += [point for point, text, answer in answers if (answer == text) != (usual == asked)]
    return found
