"""Compiling a WordPiece tokenizer into tables that native/wordpiece.c reads.

What a character becomes is asked of the tokenizer itself, for every code point there is: its Unicode
tables are its own, and differ from Python's on about a hundred of them.
"""

import json
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coldpress.errors import UnsupportedModel

PAGE = 256
CODE_POINTS = 0x110000
SEQUENCE, REMOVED, MARK = 1 << 21, 1 << 22, 1 << 23
CLASS_SHIFT, SPACE, ALONE = 24, 1, 2
RANK_SHIFT = 26

_HEADER = struct.Struct("<20I")
_SEPARATOR = "ᚠ"  # a rune: nothing but itself becomes one
_SURROGATES = range(0xD800, 0xE000)
_HIGH, _LOW = "\u0345", "\u0334"  # marks that sort after, and before, all others


def compile_wordpiece(tokenizer_json: str) -> bytes:
    """The tables for a tokenizer.json; raises UnsupportedModel where they could not be exact."""
    spec = json.loads(tokenizer_json)
    framing = _check(spec)
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(tokenizer_json)
    entries, sequences = _characters(tokenizer)
    pages, packed = _pages(entries)
    vocab: dict[str, int] = spec["model"]["vocab"]
    slots, offsets, data, longest = _vocabulary(vocab, spec["model"]["continuing_subword_prefix"])
    added = [(token["id"], token["content"].encode()) for token in spec["added_tokens"]]
    parts = {
        "pages": pages.tobytes(),
        "entries": packed.tobytes(),
        "sequences": np.array(sequences or [0], np.uint32).tobytes(),
        "slots": slots.tobytes(),
        "offsets": offsets.tobytes(),
        "bytes": data,
        "added": b"",
    }
    size = len(offsets) - 1
    at, places = _HEADER.size, {}
    for name, part in parts.items():
        places[name] = at
        at += -(-len(part) // 64) * 64
    texts_at = at + 16 * len(added)
    records, texts = b"", b""
    for token_id, text in added:
        records += struct.pack("<4I", token_id, texts_at + len(texts), len(text), 0)
        texts += text
    places["added"] = at
    header = _HEADER.pack(
        1,
        vocab[spec["model"]["unk_token"]],
        *framing,
        spec["model"]["max_input_chars_per_word"],
        longest,
        len(slots),
        len(added),
        *(places[name] for name in ("pages", "entries", "sequences", "slots", "offsets", "bytes", "added")),
        size,
        len(packed),
        max(1, len(sequences)),
        len(data),
        0,
    )
    body = b"".join(part + bytes(-len(part) % 64) for name, part in parts.items())
    return header + body + records + texts


def _check(spec: dict[str, Any]) -> tuple[int, int]:
    """Refuse every part that is not compiled; returns the ids that frame a text."""
    model, normalizer = spec["model"], spec["normalizer"] or {}
    template = spec["post_processor"] or {}
    single = [next(iter(piece)) for piece in template.get("single", [])]
    reasons = {
        f"its model is {model.get('type')}": model.get("type") != "WordPiece",
        f"its normalizer is {normalizer.get('type')}": normalizer.get("type") != "BertNormalizer",
        "its pre-tokenizer is not BERT's": (spec["pre_tokenizer"] or {}).get("type") != "BertPreTokenizer",
        "it frames texts in an unusual way": template.get("type") != "TemplateProcessing"
        or single != ["SpecialToken", "Sequence", "SpecialToken"],
        "it has added tokens with rules of their own": any(
            token["single_word"] or token["lstrip"] or token["rstrip"] or token["normalized"]
            for token in spec["added_tokens"]
        ),
        "it takes longer words than the engine": model.get("max_input_chars_per_word", 0) >= 256,
    }
    for reason, applies in reasons.items():
        if applies:
            raise UnsupportedModel(f"the tokenizer cannot be compiled: {reason}")
    tokens = template["special_tokens"]
    first, last = (tokens[template["single"][at]["SpecialToken"]["id"]]["ids"] for at in (0, 2))
    if len(first) != 1 or len(last) != 1:
        raise UnsupportedModel("the tokenizer cannot be compiled: it frames texts with several tokens at once")
    return int(first[0]), int(last[0])


def _characters(tokenizer: Any) -> tuple[NDArray[np.uint32], list[int]]:
    """For every code point, what it becomes and how the pre-tokenizer sees it."""
    entries = np.zeros(CODE_POINTS, np.uint32)
    sequences: list[int] = []
    known: dict[str, int] = {}
    for start in range(0, CODE_POINTS, 4096):
        points = [point for point in range(start, start + 4096) if point not in _SURROGATES]
        if not points:
            continue
        text = _SEPARATOR.join(map(chr, points))
        become = tokenizer.normalizer.normalize_str(f"{_SEPARATOR}{text}{_SEPARATOR}").split(_SEPARATOR)[1:-1]
        if start <= ord(_SEPARATOR) < start + 4096:  # the separator splits itself once more
            at = points.index(ord(_SEPARATOR))
            become[at : at + 2] = [_SEPARATOR]
        assert len(become) == len(points)
        if not any(become):
            entries[points] = REMOVED
            continue
        for point, result in zip(points, become, strict=True):
            if not result:
                entries[point] = REMOVED
            elif len(result) == 3 and result[0] == result[2] == " " and result[1] != " ":
                # Put between spaces, as ideographs are: the same as standing alone.
                entries[point] = 0 if result[1] == chr(point) else ord(result[1])
                entries[ord(result[1])] |= ALONE << CLASS_SHIFT
            elif len(result) == 1:
                entries[point] |= 0 if result == chr(point) else ord(result)
            else:
                if result not in known:
                    known[result] = len(sequences)
                    sequences += [len(result), *map(ord, result)]
                entries[point] = SEQUENCE | known[result]
        for point, kind in zip(points, _classes(tokenizer, points), strict=True):
            entries[point] |= kind << CLASS_SHIFT
    _marks(entries)
    return entries, sequences


def _classes(tokenizer: Any, points: list[int]) -> list[int]:
    """Space, alone, or part of a word: by where the pre-tokenizer cuts a text with a letter before each."""
    text = "".join(f"a{chr(point)}" for point in points)
    covered = {}
    for _, (start, end) in tokenizer.pre_tokenizer.pre_tokenize_str(text):
        for at in range(start, end):
            covered[at] = end - start
    kinds = []
    for at in range(len(points)):
        length = covered.get(2 * at + 1)
        kinds.append(SPACE if length is None else ALONE if length == 1 else 0)
    return kinds


def _marks(entries: NDArray[np.uint32]) -> None:
    """Find marks that canonical order moves: those that a normalizer swaps with the highest or lowest mark."""
    from tokenizers import normalizers

    decompose = normalizers.NFD()
    marks = []
    for start in range(0, CODE_POINTS, 4096):
        points = [point for point in range(start, start + 4096) if point not in _SURROGATES]
        if not points or 0x40000 <= start < 0xE0000 or start >= 0xF0000:  # no mark lives there
            continue
        pairs = decompose.normalize_str("".join(f"a{_HIGH}{chr(point)}" for point in points)).split("a")
        if len(pairs) == len(points) + 1:
            marks += [point for point, pair in zip(points, pairs[1:], strict=True) if pair and pair[0] != _HIGH]
        else:  # a letter that decomposes into an "a" and more stands among them
            marks += [
                point
                for point in points
                if not decompose.normalize_str(f"b{_HIGH}{chr(point)}").startswith(f"b{_HIGH}")
            ]
    marks += [ord(_HIGH)]
    for point in marks:
        entries[point] |= MARK
    kept = [point for point in marks if not entries[point] & (REMOVED | SEQUENCE)]
    for point in kept:
        # How many of the others come first; marks of equal rank keep their order.
        rank = 1 + sum(_goes_before(decompose, other, point) for other in kept)
        if rank >= 64:
            raise UnsupportedModel("the tokenizer cannot be compiled: it keeps too many kinds of marks")
        entries[point] |= rank << RANK_SHIFT


def _goes_before(decompose: Any, one: int, other: int) -> bool:
    """Whether canonical order puts `one` before `other`."""
    pair = f"a{chr(other)}{chr(one)}"
    return bool(decompose.normalize_str(pair) != pair)


def _pages(entries: NDArray[np.uint32]) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
    """Pages of 256 code points, each kind of page once."""
    seen: dict[bytes, int] = {}
    pages: list[int] = []
    packed: list[NDArray[np.uint32]] = []
    for page in entries.reshape(-1, PAGE):
        key = page.tobytes()
        if key not in seen:
            seen[key] = len(packed)
            packed.append(page)
        pages.append(seen[key])
    return np.array(pages, np.uint16), np.concatenate(packed)


def _vocabulary(vocab: dict[str, int], prefix: str) -> tuple[NDArray[np.uint32], NDArray[np.uint32], bytes, int]:
    """An open hash table of pieces; a continuation is marked by a first byte instead of its prefix."""
    size = max(vocab.values()) + 1
    pieces = [b"\x02"] * size  # an id that no piece has
    longest = 1
    for text, token_id in vocab.items():
        continued = text.startswith(prefix) and len(text) > len(prefix)
        plain = text[len(prefix) :] if continued else text
        pieces[token_id] = bytes([continued]) + plain.encode("utf-8", "surrogatepass")
        longest = max(longest, len(plain))
    slots = np.zeros(1 << (2 * size - 1).bit_length(), np.uint32)
    mask = len(slots) - 1
    for token_id, piece in enumerate(pieces):
        value = 2166136261
        for byte in piece:
            value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
        while slots[value & mask]:
            value += 1
        slots[value & mask] = token_id + 1
    offsets = np.cumsum([0, *map(len, pieces)]).astype(np.uint32)
    return slots, offsets, b"".join(pieces), longest
