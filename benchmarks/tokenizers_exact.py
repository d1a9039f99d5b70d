"""Compiled tokenizers beside Hugging Face's, on many strings: ids, spans and cuts must be the same."""

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from coldpress.optimize.press.file import EMBED, POOL, POOLS, Op, PressFile, rows
from coldpress.optimize.press.tokenizer import compile_tokenizer
from coldpress.package.libraries import host_architecture, press_library
from coldpress_runtime.engines.press import LIBRARY, Engine, Session

MAX_TOKENS = 128

# Marks that canonical order moves, of many ranks; some that it does not, and what is dropped between them.
MARKS = [*map(chr, range(0x300, 0x370)), *"\u0334\u0900\u093c\u094d\u0e38\u0f71\u0f73\u1b44\u1baa\u1bf2\u1bf3"]
MARKS += [*"\u302a\u302e\u302f\u3099\u309a\ua953\ua9c0\u05b0\u064e\u200b\u00ad\U0001d165\U0001d16d\U00016ff0"]
BASES = [*"aeiouAEIcoéößİſﬁ日が가각힣각\u0374\u212b\u1e9b\u0958\u0f40\u0cc6\u09c7\U0001d15f\U000110a5!? "]
LETTERS = [*"abcdefghijklmnopqrstuvwxyzABCXYZéößİſﬁ日本語가힣дж0123456789½²٣.,!?-_'\"()[]{}<>|~#@$€😀👩‍🚀"]
SPACES = [*" \t\n\r\x0b\x0c\x1c\x1f\x85\xa0\u1680\u2000\u2009\u2028\u202f\u3000\x00\x7f\u200b\u200d\ufeff\ufffd"]
WORDS = ["hello", "don't", "we'll", "I'M", "'s", "##ing", "über", "naïve", "x" * 99, "y" * 100, "z" * 101]
WORDS += [
    "q" * 300,
    "ab" * 200,
    "日本語",
    "Привет",
    "שלום",
    "नमस्ते",
    "\u0301",
    "12345",
    "3.14",
    "...",
    "\n\n",
    "    ",
]


def session(tokenizer_json: str, max_tokens: int = MAX_TOKENS) -> Session:
    """The engine with a model that has little more than this tokenizer."""
    words, scales = rows(np.zeros((1, 16), np.float32))
    ops = [
        Op(EMBED, target=0, outputs=16, tensors=[words, scales]),
        Op(POOL, activation=POOLS["mean"], source=0, inputs=16),
    ]
    file = PressFile(16, max_tokens, 1, [16], ops, compile_tokenizer(tokenizer_json))
    with tempfile.TemporaryDirectory() as folder:
        file.write(Path(folder) / "model.press")
        (Path(folder) / LIBRARY).write_bytes(press_library(host_architecture()))
        return Engine((folder,)).open(folder, {"model": "model.press"}, 1)


def random_texts(rng: random.Random, added: list[str]) -> Iterator[str]:
    """Strings of every kind, without end; `added` are the tokenizer's added tokens."""
    kinds = [
        MARKS + BASES,
        LETTERS + SPACES,
        LETTERS + LETTERS + [" "] * 20,
        WORDS + SPACES + added,
        MARKS + added,
    ]
    while True:
        length = rng.choice((1, 3, 8, 20, 60))
        kind = rng.randrange(len(kinds) + 2)
        if kind < len(kinds):
            yield "".join(rng.choices(kinds[kind], k=length))
        elif kind == len(kinds):
            yield "".join(map(_any_character, (rng.random() for _ in range(length))))
        else:
            parts = [*WORDS, *added, *SPACES, *MARKS, *BASES, *LETTERS]
            yield rng.choice(("", " ", "  ")).join(rng.choices(parts, k=length))


def _any_character(part: float) -> str:
    """Each plane that holds something as likely as the other ones together."""
    point = int(part * 0x110000 * 2)
    point = point % 0x3400 if point >= 0x110000 else point
    return "\ufffd" if 0xD800 <= point < 0xE000 else chr(point)


def mismatches(ours: Session, theirs: Any, texts: list[str]) -> list[str]:
    """The texts of which the two do not make the same."""
    encodings = theirs.encode_batch(texts)
    expected = [(encoding.ids, encoding.offsets, bool(encoding.overflowing)) for encoding in encodings]
    with_spans, without = ours.encode_spans(texts), ours.encode(texts)
    return [
        text
        for text, wanted, mine, plain in zip(texts, expected, with_spans, without, strict=True)
        if mine != wanted or plain != (wanted[0], wanted[2])
    ]
