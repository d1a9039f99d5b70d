"""Compiling Unigram, as SentencePiece trains it, into tables that native/unigram.c reads."""

import json
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coldpress.optimize.press.tokenizer.added import added_parts
from coldpress.optimize.press.tokenizer.frame import ID_BITS, UNIGRAM, Part, Words, framing_of, pack, refuse
from coldpress.optimize.press.tokenizer.steps import Steps, spaces

_STEPS, _WORDS, _BLANKS, _LABELS, _CHILDREN, _MARKS, _PIECES, _FALLBACK = range(Part.OWN, Part.OWN + 8)
_SPLIT_BLANKS, _METASPACE, _PREPEND_ALWAYS, _PREPEND_FIRST, _SPLIT_SPACES, _DOUBLES = (
    1 << bit for bit in range(6)
)
_PREPEND = {"always": _PREPEND_ALWAYS, "first": _PREPEND_FIRST, "never": 0}
_UNKNOWN_PENALTY = 10.0
_PIECE = np.uint32(1 << 31)


def compile_unigram(spec: dict[str, Any], tokenizer: Any) -> bytes:
    # Written anew: its reader of numbers is not Python's, and may be off by a bit.
    spec = json.loads(tokenizer.to_str())
    framing, model = framing_of(spec["post_processor"]), spec["model"]
    if framing.flags:
        raise refuse("it trims spans, as byte-level tokenizers do")
    if model["unk_id"] is None:
        raise refuse("it has no unknown token")
    vocab: list[tuple[str, float]] = model["vocab"]
    size = max([len(vocab) - 1, *(token["id"] for token in spec["added_tokens"])]) + 1
    if size >= 1 << ID_BITS:
        raise refuse(f"it has {size:,} tokens")
    ids = {text: number for number, (text, _) in enumerate(vocab)}  # of equal ones, the last
    flags, replacement = _pre_tokenizer(spec["pre_tokenizer"])
    steps, words = Steps(spec["normalizer"]).parts()
    parts = added_parts(spec["added_tokens"], tokenizer.normalizer) | {_STEPS: steps, _WORDS: words}
    trie, order = _trie([text.encode() for text in ids], np.array([*ids.values()], np.uint32))
    scores = np.array([score for _, score in vocab], np.float64)
    if not np.isfinite(scores).all():
        raise refuse("its scores are not finite")
    narrow = scores[order].astype(np.float32)
    exact = bool((narrow == scores[order]).all())
    stored = narrow.view(np.uint32) if exact else scores[order].view(np.uint32)
    parts |= trie | {_PIECES: np.column_stack([order, stored.reshape(len(order), -1)])}
    if flags & _SPLIT_BLANKS:
        parts[_BLANKS] = _bits(np.array([*map(ord, spaces())]))
    if model["byte_fallback"]:
        parts[_FALLBACK] = np.array([ids.get(f"<0x{byte:02X}>", size) for byte in range(256)], np.uint32)
    unknown = struct.unpack("<2I", struct.pack("<d", scores.min() - _UNKNOWN_PENALTY))
    settings = flags | (0 if exact else _DOUBLES), replacement, model["unk_id"], *unknown
    return pack(UNIGRAM, size, framing, settings, parts)


def _pre_tokenizer(part: dict[str, Any] | None) -> tuple[int, int]:
    """Flags, and the character that stands for a space."""
    kinds = _flat(part)
    flags, replacement = 0, 0
    if kinds and kinds[0]["type"] == "WhitespaceSplit":
        flags |= _SPLIT_BLANKS
        kinds = kinds[1:]
    if kinds and kinds[0]["type"] == "Metaspace":
        flags |= _METASPACE | _PREPEND[kinds[0]["prepend_scheme"]] | _SPLIT_SPACES * bool(kinds[0]["split"])
        replacement = ord(kinds[0]["replacement"])
        kinds = kinds[1:]
    if kinds:
        raise refuse(f"it has a pre-tokenizer of the kind {kinds[0]['type']}, or in an unusual place")
    return flags, replacement


def _flat(part: dict[str, Any] | None) -> list[dict[str, Any]]:
    if part is None:
        return []
    if part["type"] == "Sequence":
        return [kind for inner in part["pretokenizers"] for kind in _flat(inner)]
    return [part]


def _trie(pieces: list[bytes], ids: Words) -> tuple[dict[int, NDArray[Any]], Words]:
    """All pieces as a trie of bytes, built a level at a time; and their ids in the order of its nodes."""
    order = np.array(sorted(range(len(pieces)), key=pieces.__getitem__), np.int64)
    pieces = [pieces[number] for number in order]
    ids = ids[order]
    lengths = np.array([*map(len, pieces)])
    starts = np.cumsum(lengths) - lengths
    data = np.frombuffer(b"".join(pieces) + b"\0", np.uint8)
    nodes = np.zeros(len(pieces), np.int64)  # of each piece, the one that its bytes so far lead to
    labels, parents, count = [np.zeros(1, np.uint8)], [], 1
    for depth in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > depth)
        byte, above = data[starts[longer] + depth], nodes[longer]
        new = np.ones(len(longer), bool)
        new[1:] = (byte[1:] != byte[:-1]) | (above[1:] != above[:-1])
        labels.append(byte[new])
        parents.append(above[new])
        nodes[longer] = count + np.cumsum(new) - 1
        count += int(new.sum())
    below = np.bincount(np.concatenate([*parents, np.zeros(0, np.int64)]), minlength=count)
    known = lengths > 0
    nodes, ids = nodes[known], ids[known]
    bits = _bits(nodes)
    bits = np.concatenate([bits, np.zeros(-(-count // 32) - len(bits), np.uint32)])
    before = np.cumsum(np.bitwise_count(bits)) - np.bitwise_count(bits)
    names = np.zeros(count // 4 * 4 + 12, np.uint8)  # with some to spare: eight are read at a time
    names[:count] = np.concatenate(labels)
    children = np.concatenate([[1], 1 + np.cumsum(below)]).astype(np.uint32)
    children[nodes] |= _PIECE
    trie = {
        _LABELS: names.view(np.uint32),
        _CHILDREN: children,
        _MARKS: np.column_stack([bits, before.astype(np.uint32)]),
    }
    return trie, ids[np.argsort(nodes)]


def _bits(numbers: NDArray[np.int64]) -> Words:
    """A bit for each number."""
    bits = np.zeros((int(numbers.max(initial=0)) // 32 + 1) * 32, np.uint8)
    bits[numbers] = 1
    return np.packbits(bits, bitorder="little").view(np.uint32)
