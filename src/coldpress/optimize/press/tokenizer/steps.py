"""Compiling normalizers into steps that native/steps.c takes."""

import base64
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coldpress.optimize.press.tokenizer.characters import (
    CODE_POINTS,
    MARK,
    RANK_SHIFT,
    REMOVED,
    changes,
    character_parts,
    chunks,
    every_character,
    ranks_of_marks,
    sequence_of,
)
from coldpress.optimize.press.tokenizer.charsmap import charsmap_table
from coldpress.optimize.press.tokenizer.frame import Part, Words, refuse

_MAP, _CHARSMAP, _REPLACE, _RUNS, _STRIP, _PREPEND, _CANONICAL = range(1, 8)
_LEFT, _RIGHT = 1, 2
_DECOMPOSE = ("NFD", "NFKD")
_COMPOSE = {"NFC": "NFD", "NFKC": "NFKD"}  # and what each does first
_PER_CHARACTER = (*_DECOMPOSE, "Lowercase", "Nmt", "StripAccents")
_SECOND = 1 << 24
_SPACES, _BLANKS = " {2,}", r"\s{2,}|[\n\r\t]"  # the patterns that converted tokenizers have


class Steps:
    """Steps, and the words that they refer to."""

    def __init__(self, normalizer: dict[str, Any] | None) -> None:
        self._steps: list[tuple[int, int, int]] = []
        self._words: list[NDArray[np.uint32]] = []
        self._size = 0
        alike: list[str] = []  # that change each character by itself: they make one step
        for part in _flat(normalizer):
            kind = part["type"]
            if kind in _PER_CHARACTER:
                alike.append(kind)
                continue
            self._per_character(alike)
            alike = []
            self._take(kind, part)
        self._per_character(alike)

    def parts(self) -> tuple[Words, Words]:
        return np.array(self._steps, np.uint32).reshape(-1), np.concatenate([*self._words, np.zeros(1, np.uint32)])

    def _take(self, kind: str, part: dict[str, Any]) -> None:
        if kind == "Precompiled":
            entries, sequences, keys = charsmap_table(base64.b64decode(part["precompiled_charsmap"]))
            self._step(_CHARSMAP, self._table(entries, sequences, keys))
        elif kind in _COMPOSE:
            self._canonical(kind)
        elif kind == "Replace":
            self._replace(part["pattern"], part["content"])
        elif kind == "Strip":
            sides = _LEFT * bool(part["strip_left"]) | _RIGHT * bool(part["strip_right"])
            self._step(_STRIP, self._text(spaces()), sides)
        elif kind == "Prepend" and part["prepend"]:
            self._step(_PREPEND, self._text(part["prepend"]))
        else:
            raise refuse(f"it has a normalizer of the kind {kind}")

    def _per_character(self, kinds: list[str]) -> None:
        if not kinds:
            return
        from tokenizers import normalizers

        changed = changes(normalizers.Sequence([getattr(normalizers, kind)() for kind in kinds]).normalize_str)
        # Decomposing also puts marks in order, but that is all the same if they are removed later on.
        marks = ranks_of_marks(normalizers.NFKD().normalize_str) if {*kinds} & {*_DECOMPOSE} else {}
        if not any(changed.get(mark) != "" for mark in marks):
            self._step(_MAP, self._table(*_entries(changed)))
        elif len(kinds) == 1:
            self._canonical(kinds[0])
        else:
            for kind in kinds:
                self._per_character([kind])

    def _canonical(self, kind: str) -> None:
        """A normalization form: what characters are made of, the order of marks, and pairs that make one."""
        from tokenizers import normalizers

        entries, sequences = _entries(changes(getattr(normalizers, _COMPOSE.get(kind, kind))().normalize_str))
        for mark, rank in ranks_of_marks(normalizers.NFD().normalize_str).items():
            entries[mark] |= np.uint32(MARK | rank << RANK_SHIFT)
        pairs = _pairs() if kind in _COMPOSE else []
        entries[[second for second, _, _ in pairs]] |= np.uint32(_SECOND)
        keys = np.array([(first, second, made) for second, first, made in sorted(pairs)], np.uint32)
        self._step(_CANONICAL, self._table(entries, sequences, keys.reshape(-1, 3)))

    def _replace(self, pattern: dict[str, str], content: str) -> None:
        from tokenizers.normalizers import Replace

        if pattern.get("Regex") in (_SPACES, _BLANKS):
            many = self._text(" " if pattern["Regex"] == _SPACES else _matching(r"\s"))
            self._text("" if pattern["Regex"] == _SPACES else "\t\n\r")
            self._step(_RUNS, self._text(content), many)
            return
        text = pattern.get("String")
        if not text or Replace(text, "?").normalize_str(f"a{text}{text}b") != "a??b":
            raise refuse(f"it replaces what matches {pattern}")
        self._step(_REPLACE, self._text(content), self._text(text))

    def _step(self, action: int, data: int, other: int = 0) -> None:
        self._steps.append((action, data, other))

    def _add(self, *words: NDArray[np.uint32]) -> int:
        at = self._size
        self._words += words
        self._size += sum(len(some) for some in words)
        return at

    def _text(self, text: str) -> int:
        return self._add(np.array([len(text), *map(ord, text)], np.uint32))

    def _table(self, entries: Words, sequences: list[int], keys: Words | None = None) -> int:
        keys = np.zeros((0, 3), np.uint32) if keys is None else keys
        parts = character_parts(entries, sequences)
        pages, packed, stored = parts[Part.PAGES], parts[Part.ENTRIES], parts[Part.SEQUENCES]
        head = np.array([len(packed), len(stored), len(keys)], np.uint32)
        return self._add(head, pages.view(np.uint32), packed, stored, keys.reshape(-1))


def _entries(changed: dict[int, str]) -> tuple[Words, list[int]]:
    entries = np.zeros(CODE_POINTS, np.uint32)
    sequences: list[int] = []
    known: dict[str, int] = {}
    for point, text in changed.items():
        entries[point] = (
            REMOVED if not text else ord(text) if len(text) == 1 else sequence_of(text, sequences, known)
        )
    return entries, sequences


def _pairs() -> list[tuple[int, int, int]]:
    """Each two characters that compose, the second before the first, and what they make."""
    from tokenizers import normalizers

    compose, pairs = normalizers.NFC().normalize_str, []
    for point, parts in changes(normalizers.NFD().normalize_str).items():
        if len(parts) > 1 and compose(chr(point)) == chr(point):
            first = compose(parts[:-1])
            if len(first) != 1 or compose(first + parts[-1]) != chr(point):
                raise refuse(f"U+{point:04X} is composed in an unknown way")
            pairs.append((ord(parts[-1]), ord(first), point))
    return pairs


def _flat(normalizer: dict[str, Any] | None) -> list[dict[str, Any]]:
    if normalizer is None:
        return []
    if normalizer["type"] == "Sequence":
        return [part for inner in normalizer["normalizers"] for part in _flat(inner)]
    return [normalizer]


def _matching(pattern: str) -> str:
    """The characters that a pattern of one matches."""
    from tokenizers import Regex
    from tokenizers.normalizers import Replace

    found, without = "", Replace(Regex(pattern), "").normalize_str
    for text in chunks():
        if (left := without(text)) != text:
            found += "".join(sorted({*text} - {*left}))
    return found


def spaces() -> str:
    """What `tokenizers` takes for white space."""
    from tokenizers.normalizers import Strip

    strip = Strip(left=True, right=False).normalize_str
    return "".join(one for one in re.findall(r"\s", every_character()) if not strip(one))
