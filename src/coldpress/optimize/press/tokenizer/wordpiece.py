"""Compiling WordPiece with BERT's normalizer and pre-tokenizer into tables that native/wordpiece.c reads."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coldpress.optimize.press.tokenizer.added import added_parts
from coldpress.optimize.press.tokenizer.characters import (
    CLASS_SHIFT,
    CODE_POINTS,
    MARK,
    RANK_SHIFT,
    REMOVED,
    REMOVED_FIRST,
    changes,
    character_parts,
    chunks,
    is_inhabited,
    ranks_of_marks,
    sequence_of,
)
from coldpress.optimize.press.tokenizer.frame import WORDPIECE, framing_of, pack, pieces_of, refuse

_SPACE, _ALONE, _SPACED = 1, 2, 3
_LONGEST_WORD = 255


def compile_wordpiece(spec: dict[str, Any], tokenizer: Any) -> bytes:
    _check(spec)
    framing, model = framing_of(spec["post_processor"]), spec["model"]
    if framing.flags and any(text.startswith("Ġ") or text.endswith("Ġ") for text in model["vocab"]):
        raise refuse("it takes a letter for the space of byte-level tokenizers, and trims it")
    vocab, prefix = model["vocab"], model["continuing_subword_prefix"]
    size = max([*vocab.values(), *(token["id"] for token in spec["added_tokens"])]) + 1
    longest = 1

    def encode(text: str) -> bytes:
        """A continuation is marked by a first byte instead of its prefix."""
        nonlocal longest
        continued = text.startswith(prefix) and len(text) > len(prefix)
        plain = text[len(prefix) :] if continued else text
        longest = max(longest, len(plain))
        return bytes([continued]) + plain.encode("utf-8", "surrogatepass")

    parts = pieces_of(vocab, size, encode) | _characters(tokenizer, spec)
    parts |= added_parts(spec["added_tokens"], tokenizer.normalizer)
    settings = vocab[model["unk_token"]], model["max_input_chars_per_word"], longest
    return pack(WORDPIECE, size, framing, settings, parts)


def _check(spec: dict[str, Any]) -> None:
    """Refuse every part that is not compiled."""
    model, normalizer = spec["model"], spec["normalizer"] or {}
    reasons = {
        f"its normalizer is {normalizer.get('type')}": normalizer.get("type") != "BertNormalizer",
        "its pre-tokenizer is not BERT's": (spec["pre_tokenizer"] or {}).get("type") != "BertPreTokenizer",
        "it takes longer words than the engine": model["max_input_chars_per_word"] > _LONGEST_WORD,
        "its unknown token is not in its vocabulary": model["unk_token"] not in model["vocab"],
    }
    for reason, applies in reasons.items():
        if applies:
            raise refuse(reason)


def _characters(tokenizer: Any, spec: dict[str, Any]) -> dict[int, NDArray[Any]]:
    """For every code point, what it becomes and how the pre-tokenizer sees it."""
    from tokenizers import normalizers

    become: dict[int, int] = {}
    sequences: list[int] = []
    known: dict[str, int] = {}
    normalize = tokenizer.normalizer.normalize_str
    removed, alone = [], []
    for point, result in changes(normalize).items():
        if len(result) == 1:
            become[point] = ord(result)
        elif not result:
            removed.append(point)
        elif len(result) == 3 and result[0] == result[2] == " " and result[1] != " ":
            # Put between spaces, as ideographs are: the same as standing alone.
            alone.append(ord(result[1]))
            if alone[-1] != point:
                become[point] = alone[-1]
        else:
            become[point] = sequence_of(result, sequences, known)
    entries = np.zeros(CODE_POINTS, np.uint32)
    entries[[*become]] = [*become.values()]
    entries[removed] = REMOVED
    if spec["normalizer"]["clean_text"]:
        clean = normalizers.BertNormalizer(
            clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False
        )
        kept = {*clean.normalize_str("".join(map(chr, removed)))}
        entries[[point for point in removed if chr(point) not in kept]] = REMOVED_FIRST
    for kind, points in (_classes(tokenizer) | {_SPACED: alone}).items():
        entries[points] |= np.uint32(kind << CLASS_SHIFT)
    if normalize("b\u302e\U0001d165") == "b\U0001d165\u302e":  # marks are put in order
        for point, rank in ranks_of_marks(normalizers.NFD().normalize_str).items():
            entries[point] |= MARK | rank << RANK_SHIFT
    return character_parts(entries, sequences)


def _classes(tokenizer: Any) -> dict[int, list[int]]:
    """The code points that the pre-tokenizer takes for spaces, and those that stand alone."""
    split = tokenizer.pre_tokenizer.pre_tokenize_str
    spaces, singles = [], []
    for text in chunks():
        if not is_inhabited(text[0]):
            continue
        points, at = [*map(ord, text)], 0
        for _, (start, end) in [*split(text), ("", (len(text), len(text)))]:
            spaces += points[at:start]
            if end - start == 1:
                singles.append(points[start])
            at = end
    # Alone, or a word of one letter between two that are: a letter before each tells.
    parts = {start for _, (start, _) in split("".join(f"a{chr(point)}" for point in singles))}
    return {_SPACE: spaces, _ALONE: [point for at, point in enumerate(singles) if 2 * at + 1 in parts]}
