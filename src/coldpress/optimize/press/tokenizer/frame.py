"""What compiled tokenizers of all kinds share: native/tokenizer.h in Python."""

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coldpress.errors import UnsupportedModel

WORDPIECE, BPE, UNIGRAM = 1, 2, 9

ID_BITS = 20
_PARTS = 24
_HEADER = struct.Struct(f"<8I{2 * _PARTS}I")
_ALIGNMENT = 64
_SETTINGS = 5
_TRIM_SPACES, _TRIM_BUT_PREFIX = 1, 2

Words = NDArray[np.uint32]


class Part(IntEnum):
    BEFORE = 0
    AFTER = 1
    ADDED = 2
    FIRST = 3
    FIRST_NORMALIZED = 4
    NODES = 5
    EDGES = 6
    SPACES = 7
    LETTERS = 8
    PAGES = 9
    ENTRIES = 10
    SEQUENCES = 11
    SLOTS = 12
    OFFSETS = 13
    BYTES = 14
    OWN = 15


def refuse(reason: str) -> UnsupportedModel:
    return UnsupportedModel(f"the tokenizer cannot be compiled: {reason}")


@dataclass(frozen=True)
class Framing:
    """The ids around each text, and what the spans of its tokens leave out."""

    before: list[int]
    after: list[int]
    flags: int = 0


def pack(
    kind: int,
    vocabulary: int,
    framing: Framing,
    settings: Iterable[int],
    parts: dict[int, NDArray[Any]],
) -> bytes:
    """One block: the header, then each part at its place."""
    parts = parts | {
        Part.BEFORE: np.array(framing.before, np.uint32),
        Part.AFTER: np.array(framing.after, np.uint32),
    }
    places = [0] * (2 * _PARTS)
    at = -(-_HEADER.size // _ALIGNMENT) * _ALIGNMENT
    chunks = [bytes(at - _HEADER.size)]
    for number, items in sorted(parts.items()):
        data = items.tobytes()
        places[2 * number : 2 * number + 2] = at, items.size
        chunks.append(data + bytes(-len(data) % _ALIGNMENT))
        at += len(chunks[-1])
    own = ([*settings] + [0] * _SETTINGS)[:_SETTINGS]
    return _HEADER.pack(kind, vocabulary, framing.flags, *own, *places) + b"".join(chunks)


def framing_of(post_processor: dict[str, Any] | None) -> Framing:
    """What the post-processor does to a single text."""
    if post_processor is None:
        return Framing([], [])
    kind = post_processor.get("type")
    if kind == "Sequence":
        whole = Framing([], [])
        for part in map(framing_of, post_processor["processors"]):
            if part.flags and (whole.before or whole.after):
                raise refuse("it frames texts before it trims them")
            whole = Framing(part.before + whole.before, whole.after + part.after, whole.flags | part.flags)
        return whole
    if kind == "TemplateProcessing":
        return _template(post_processor)
    if kind in ("BertProcessing", "RobertaProcessing"):
        return Framing([post_processor["cls"][1]], [post_processor["sep"][1]], _trimming(post_processor))
    if kind == "ByteLevel":
        return Framing([], [], _trimming(post_processor))
    raise refuse(f"its post-processor is {kind}")


def _trimming(post_processor: dict[str, Any]) -> int:
    if not post_processor.get("trim_offsets"):
        return 0
    return _TRIM_SPACES | (_TRIM_BUT_PREFIX if post_processor.get("add_prefix_space") else 0)


def _template(post_processor: dict[str, Any]) -> Framing:
    pieces = post_processor["single"]
    texts = [at for at, piece in enumerate(pieces) if "Sequence" in piece]
    if len(texts) != 1:
        raise refuse("it frames texts in an unusual way")

    def ids(some: list[Any]) -> list[int]:
        known = post_processor["special_tokens"]
        return [number for piece in some for number in known[piece["SpecialToken"]["id"]]["ids"]]

    return Framing(ids(pieces[: texts[0]]), ids(pieces[texts[0] + 1 :]))


def pieces_of(vocab: dict[str, int], size: int, encode: Callable[[str], bytes]) -> dict[int, NDArray[Any]]:
    """The parts that find a piece; `encode` puts a byte before each, or leaves it out with no bytes at all."""
    if size >= 1 << ID_BITS:
        raise refuse(f"it has {size} tokens, and the engine counts to {1 << ID_BITS}")
    pieces = [b""] * size
    for text, number in vocab.items():
        pieces[number] = encode(text)
    known = np.array([number for number, piece in enumerate(pieces) if piece], np.int64)
    slots = np.zeros(1 << (2 * max(size, 1) - 1).bit_length(), np.uint32)
    hashes = np.zeros(size + 1, np.uint32)
    hashes[known + 1] = _hashes([pieces[number] for number in known])
    _fill(slots, known, hashes[known + 1])
    slots |= hashes[slots] >> np.uint32(ID_BITS) << np.uint32(ID_BITS)  # most that are no match show by that
    stored = [piece or b"\xff" for piece in pieces]  # an id that no piece has
    data = np.frombuffer(b"".join(stored), np.uint8)
    offsets = np.cumsum([0, *map(len, stored)]).astype(np.uint32)
    return {Part.SLOTS: slots, Part.OFFSETS: offsets, Part.BYTES: data}


def _hashes(pieces: list[bytes]) -> Words:
    """FNV-1a of each, computed for all at once, a column at a time."""
    lengths = np.array([*map(len, pieces)])
    order = np.argsort(-lengths, kind="stable")
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])[order]
    data = np.frombuffer(b"".join(pieces), np.uint8)
    values = np.full(len(pieces), 2166136261, np.uint32)
    for column in range(int(lengths.max(initial=0))):
        longer = int(np.count_nonzero(lengths > column))
        values[:longer] = (values[:longer] ^ data[starts[:longer] + column]) * np.uint32(16777619)
    result = np.empty_like(values)
    result[order] = values
    return result


def _fill(slots: Words, numbers: NDArray[np.int64], hashes: Words) -> None:
    """Each into the first free slot from its hash on."""
    mask = len(slots) - 1
    at = (hashes & np.uint32(mask)).astype(np.int64)
    while len(numbers):
        free = slots[at] == 0
        slots[at[free][::-1]] = numbers[free][::-1] + 1  # of several that want a slot, the first gets it
        left = slots[at] != numbers + 1
        numbers, at = numbers[left], (at[left] + 1) & mask


def slots_of_pairs(pairs: Words) -> Words:
    """A hash table of pairs: one more than the number of each; 0 for free."""
    slots = np.zeros(1 << (2 * len(pairs) - 1).bit_length(), np.uint32)
    hashes = (pairs[:, 0] * np.uint32(0x9E3779B1)) ^ (pairs[:, 1] * np.uint32(0x85EBCA77))
    _fill(slots, np.arange(len(pairs)), hashes ^ hashes >> np.uint32(15))
    return slots
