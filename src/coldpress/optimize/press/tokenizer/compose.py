"""NFC, compiled for native/compose.c: what characters are made of, and which pairs make one."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coldpress.optimize.press.tokenizer.characters import (
    MARK,
    RANK_SHIFT,
    REMOVED,
    changes,
    ranks_of_marks,
    sequence_of,
)
from coldpress.optimize.press.tokenizer.frame import Words, refuse, slots_of_pairs

_UNSETTLED = REMOVED  # no character goes away in NFC, so the bit is free
_SYLLABLES = "".join(map(chr, range(0xAC00, 0xAC00 + 11172)))
_LEADS, _VOWELS, _TAILS = range(0x1100, 0x1113), range(0x1161, 0x1176), range(0x11A7, 0x11C3)


def compositions(entries: Words, sequences: list[int]) -> NDArray[Any]:
    """Write into `entries` and `sequences` what NFC needs to know; returns the table of pairs."""
    from tokenizers import normalizers

    compose, decompose = normalizers.NFC().normalize_str, normalizers.NFD().normalize_str
    _check_syllables(compose, decompose)
    made_of = {point: parts for point, parts in changes(decompose).items() if chr(point) not in _SYLLABLES}
    unstable = changes(compose)
    pairs = {}
    known: dict[str, int] = {}
    for point, parts in made_of.items():
        entries[point] |= ord(parts) if len(parts) == 1 else sequence_of(parts, sequences, known)
        if len(parts) > 1 and point not in unstable:
            first = compose(parts[:-1])
            if len(first) != 1 or compose(first + parts[-1]) != chr(point):
                raise refuse(f"U+{point:04X} is composed in an unusual way")
            pairs[ord(first), ord(parts[-1])] = point
    ranks = ranks_of_marks(decompose)
    for point, rank in ranks.items():
        entries[point] |= MARK | rank << RANK_SHIFT
    seconds = {second for _, second in pairs} | {*_VOWELS, *_TAILS[1:]}
    entries[[*{*unstable} | {*ranks} | seconds]] |= np.uint32(_UNSETTLED)
    rows = np.array([(one, other, made) for (one, other), made in pairs.items()], np.uint32)
    slots = slots_of_pairs(rows[:, :2])
    return np.concatenate([np.full((1, 3), 0xFFFFFFFF, np.uint32), rows])[slots]


def _check_syllables(compose: Any, decompose: Any) -> None:
    """The engine joins and parts Korean syllables by their numbers: see that tokenizers does, too."""
    parts = [
        chr(lead) + chr(vowel) + ("" if tail == _TAILS[0] else chr(tail))
        for lead in _LEADS
        for vowel in _VOWELS
        for tail in _TAILS
    ]
    together = "".join(parts)
    if decompose(_SYLLABLES) != together or compose(together) != _SYLLABLES or compose(_SYLLABLES) != _SYLLABLES:
        raise refuse("it composes Korean syllables in an unusual way")
