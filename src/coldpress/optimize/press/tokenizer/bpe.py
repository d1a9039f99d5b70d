"""Compiling byte-level BPE, as GPT-2, RoBERTa and ModernBERT have it, into tables that native/bpe.c reads."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coldpress.optimize.press.tokenizer.added import added_parts
from coldpress.optimize.press.tokenizer.characters import (
    CLASS_SHIFT,
    CODE_POINTS,
    character_parts,
    chunks,
    every_character,
    is_inhabited,
)
from coldpress.optimize.press.tokenizer.compose import compositions
from coldpress.optimize.press.tokenizer.frame import (
    BPE,
    ID_BITS,
    Part,
    framing_of,
    pack,
    pieces_of,
    refuse,
    slots_of_pairs,
)

_MERGES, _MADE, _BYTE_IDS, _COMPOSED = range(Part.OWN, Part.OWN + 4)
_PREFIX_SPACE, _COMPOSE = 1, 2
_OTHER, _LETTER, _NUMBER, _SPACE = range(4)


def compile_bpe(spec: dict[str, Any], tokenizer: Any) -> bytes:
    model = spec["model"]
    _check(model)
    composes = _normalizes(spec["normalizer"])
    flags = _PREFIX_SPACE * _prefixes(spec["pre_tokenizer"]) | _COMPOSE * composes
    vocab: dict[str, int] = model["vocab"]
    size = max([*vocab.values(), *(token["id"] for token in spec["added_tokens"])]) + 1
    alphabet = _alphabet()
    bytes_of = {character: bytes([byte]) for byte, character in enumerate(alphabet) if character}
    missing = [character for character in alphabet if character and character not in vocab]
    if missing:
        raise refuse(f"it has no token for {len(missing)} bytes, {missing[0]!r} is one")
    reached = _reached(vocab, model, tokenizer)

    def encode(text: str) -> bytes:
        return b"".join(bytes_of.get(character, b"\xff\xff") for character in text) if text in reached else b""

    entries = np.zeros(CODE_POINTS, np.uint32)
    sequences: list[int] = []
    for kind, points in _classes().items():
        entries[points] |= np.uint32(kind << CLASS_SHIFT)
    parts = pieces_of(vocab, size, encode)
    if composes:
        parts[_COMPOSED] = compositions(entries, sequences)
    parts |= character_parts(entries, sequences) | added_parts(spec["added_tokens"], tokenizer.normalizer)
    parts |= _merges(model["merges"], vocab)
    parts[_BYTE_IDS] = np.array([vocab.get(character, 0) for character in alphabet], np.uint32)
    return pack(BPE, size, framing_of(spec["post_processor"]), [flags], parts)


def _check(model: dict[str, Any]) -> None:
    for name in ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback"):
        if model.get(name):
            raise refuse(f"its model has {name.replace('_', ' ')}")


def _normalizes(normalizer: dict[str, Any] | None) -> bool:
    """Whether texts are put into NFC; all else but nothing is refused."""
    if normalizer is None:
        return False
    if normalizer["type"] == "Sequence" and len(normalizer["normalizers"]) < 2:
        return any(map(_normalizes, normalizer["normalizers"]))
    if normalizer["type"] != "NFC":
        raise refuse(f"its normalizer is {normalizer['type']}")
    return True


def _prefixes(pre_tokenizer: dict[str, Any] | None) -> bool:
    """Whether a space is put before texts; raises when they are not cut into words as GPT-2 does."""
    pre_tokenizer = pre_tokenizer or {"type": None}
    if pre_tokenizer["type"] == "Sequence" and len(pre_tokenizer["pretokenizers"]) == 1:
        return _prefixes(pre_tokenizer["pretokenizers"][0])
    if pre_tokenizer["type"] != "ByteLevel":
        raise refuse(f"its pre-tokenizer is {pre_tokenizer['type']}")
    if not pre_tokenizer.get("use_regex", True):
        raise refuse("its pre-tokenizer does not cut texts into words as GPT-2 does")
    return bool(pre_tokenizer["add_prefix_space"])


def _alphabet() -> list[str]:
    """The character that stands for each byte; none for those that no UTF-8 has."""
    from tokenizers import pre_tokenizers

    split = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str
    text = "".join(map(chr, range(0x100))) + every_character()[::64]  # all bytes that UTF-8 has
    known = dict(zip(text.encode(), split(text)[0][0], strict=True))
    return [known.get(byte, "") for byte in range(256)]


def _reached(vocab: dict[str, int], model: dict[str, Any], tokenizer: Any) -> set[str]:
    """The pieces that a word which is just them becomes: merging need not be gone through for them."""
    if model.get("ignore_merges"):
        return {*vocab}
    merge = tokenizer.model.tokenize
    return {text for text in vocab if text and len(merge(text)) == 1}


def _merges(merges: list[Any], vocab: dict[str, int]) -> dict[int, NDArray[Any]]:
    """Each pair with its rank in one number, where a search for it begins; and what each rank makes."""
    ranks: dict[tuple[int, int], int] = {}
    made = []
    for rank, merge in enumerate(merges):
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        ranks[vocab[left], vocab[right]] = rank  # of two that are the same, the last
        made.append(vocab[left + right])
    if not ranks or len(made) >= 1 << ID_BITS:
        raise refuse(f"it has {len(made)} merges")
    pairs = np.array([*ranks], np.uint32)
    left, right = pairs.T.astype(np.uint64)
    rows = (left << np.uint64(ID_BITS) | right) << np.uint64(ID_BITS) | np.array([*ranks.values()], np.uint64)
    table = np.concatenate([np.array([2**64 - 1], np.uint64), rows])[slots_of_pairs(pairs)]
    return {_MERGES: table.view(np.uint32), _MADE: np.array(made, np.uint32)}


def _classes() -> dict[int, list[int]]:
    """The code points of each class, by where GPT-2's pattern cuts them: a word is of one class."""
    from tokenizers import pre_tokenizers

    split = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str
    examples = {_LETTER: "a", _NUMBER: "1", _OTHER: "!"}
    found: dict[int, list[int]] = {_OTHER: [], _LETTER: [], _NUMBER: [], _SPACE: [ord(" ")]}
    for text in chunks():
        if not is_inhabited(text[0]):
            continue
        others = text.replace(" ", "")  # a space would join what follows
        for _, (start, end) in split(others):
            word = others[start:end]
            kinds = [kind for kind, example in examples.items() if len(split(example + word[0])) == 1]
            found[kinds[0] if kinds else _SPACE] += map(ord, word)
    return found
