"""What is known of each character, asked of tokenizers itself.

Its Unicode tables are its own, and differ from Python's on about a hundred code points.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coldpress.optimize.press.tokenizer.frame import Part, Words, refuse

CODE_POINTS = 0x110000
SURROGATES = range(0xD800, 0xE000)
PAGE = 256
SEQUENCE, REMOVED, MARK = 1 << 21, 1 << 22, 1 << 23
REMOVED_FIRST = REMOVED | 1
CLASS_SHIFT, RANK_SHIFT = 24, 26
_RANKS = 64

_CHUNK = 4096
_SEPARATOR = "ᚠ"  # a rune: nothing but itself becomes one
_HIGHEST = "\u0345"  # the mark that comes after all others

Normalize = Callable[[str], str]


@cache
def every_character() -> str:
    """All that a text may have, in their order."""
    points = np.delete(np.arange(CODE_POINTS, dtype="<u4"), SURROGATES)
    return points.tobytes().decode("utf-32-le")


def is_inhabited(character: str) -> bool:
    """Whether its plane holds any letters or marks."""
    return character < "\U00040000" or "\U000e0000" <= character < "\U000f0000"


def chunks() -> Iterator[str]:
    """All characters, some thousands at a time."""
    every = every_character()
    for start in range(0, len(every), _CHUNK):
        yield every[start : start + _CHUNK]


def _each(normalize: Normalize, text: str, before: str = "") -> list[str]:
    """What each character of a text becomes on its own, or behind something else."""
    between = _SEPARATOR + before
    results = normalize(f"{between}{between.join(text)}{_SEPARATOR}").split(_SEPARATOR)[1:-1]
    at = text.find(_SEPARATOR)
    if at >= 0:  # the separator splits itself once more
        results[at : at + 2] = [before + _SEPARATOR]
    return results


def changes(normalize: Normalize) -> dict[int, str]:
    """What each character becomes on its own, of those that change."""
    changed: dict[int, str] = {}
    for text in chunks():
        whole = normalize(text)
        if not whole:
            changed.update(dict.fromkeys(map(ord, text), ""))
        elif whole != text:
            each = zip(text, _each(normalize, text), strict=True)
            changed.update((ord(before), after) for before, after in each if before != after)
    return changed


def ranks_of_marks(decompose: Normalize) -> dict[int, int]:
    """The marks that canonical order moves, each with its place in that order; 1 comes first."""
    marks = [_HIGHEST]
    for text in chunks():
        among = _HIGHEST + _HIGHEST.join(text)
        if is_inhabited(text[0]) and decompose(among) != among:
            behind = zip(text, _each(decompose, text, _HIGHEST), strict=True)
            marks += [mark for mark, moved in behind if moved[0] != _HIGHEST]
    plain = [mark for mark in marks if decompose(mark) == mark]
    ordered = decompose("".join(plain))
    ranks, rank = {ordered[0]: 1}, 1
    for one, other in pairwise(ordered):
        rank += decompose(f"b{other}{one}") == f"b{one}{other}"  # those of equal rank keep their order
        ranks[other] = rank
    if rank >= _RANKS:
        raise refuse("it knows too many kinds of marks")
    return {ord(mark): ranks[decompose(mark)[0]] for mark in marks}


def sequence_of(result: str, sequences: list[int], known: dict[str, int]) -> int:
    """The entry for a character that becomes several; equal ones are stored once."""
    if result not in known:
        known[result] = len(sequences)
        sequences += [len(result), *map(ord, result)]
    return SEQUENCE | known[result]


def character_parts(entries: Words, sequences: list[int]) -> dict[int, NDArray[Any]]:
    """The tables of code points: pages of 256, each kind of page once."""
    pages: dict[bytes, int] = {}
    which = [pages.setdefault(page.tobytes(), len(pages)) for page in entries.reshape(-1, PAGE)]
    return {
        Part.PAGES: np.array(which, np.uint16),
        Part.ENTRIES: np.frombuffer(b"".join(pages), np.uint32),
        Part.SEQUENCES: np.array(sequences or [0], np.uint32),
    }


def ranges(characters: Iterable[str]) -> Words:
    """Characters as ranges, the first and the last of each."""
    inside = np.zeros(CODE_POINTS + 1, np.int8)
    inside[[*map(ord, characters)]] = 1
    edges = np.flatnonzero(np.diff(inside, prepend=np.int8(0)))
    return np.stack([edges[::2], edges[1::2] - 1], axis=1).astype(np.uint32)
