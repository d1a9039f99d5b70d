"""Compiled tokenizers beside Hugging Face's, on many strings: ids, spans and cuts must be the same.

    python benchmarks/tokenizers_exact.py --strings 200000

Another kind of tokenizer is one more line in tokenizer_kinds.py.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from coldpress.machine import cpu_name
from coldpress.optimize.press.file import EMBED, Op, PressFile
from coldpress.optimize.press.tokenizer import compile_tokenizer
from coldpress.package.libraries import host_architecture, own_library
from coldpress_runtime.engines.press import LIBRARY, Engine, Session
from prose import paragraphs
from tokenizer_kinds import KINDS, trained

RESULT = Path(__file__).parent / "results" / "tokenizers.json"
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


def write_model(tokenizer_json: str, path: Path, max_tokens: int = MAX_TOKENS) -> None:
    """A model that has little more than this tokenizer."""
    # One row of floats stands for the whole model: per token, and nothing after it.
    ops = [Op(EMBED, target=0, outputs=16, tensors=[np.zeros((1, 16), np.float32)])]
    file = PressFile(max_tokens, vocabulary=1, dimensions=16, widths=[16], ops=ops)
    file.tokenizer = compile_tokenizer(tokenizer_json)
    file.write(path)


def session(tokenizer_json: str, max_tokens: int = MAX_TOKENS) -> Session:
    """The engine with such a model."""
    with tempfile.TemporaryDirectory() as folder:
        write_model(tokenizer_json, Path(folder) / "model.press", max_tokens)
        (Path(folder) / LIBRARY).write_bytes(own_library("press", host_architecture()))
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


def added_texts(tokenizer: Any) -> list[str]:
    return [token.content for token in tokenizer.get_added_tokens_decoder().values()]


def seconds(*work: Callable[[], Any], rounds: int = 5) -> list[float]:
    """Processor time of each, in turn, the best of some rounds: others may share the machine."""
    best = [float("inf")] * len(work)
    for _ in range(rounds):
        for at, do in enumerate(work):
            start = time.process_time()
            do()
            best[at] = min(best[at], time.process_time() - start)
    return best


def measure(kind: str, strings: int, seed: int) -> dict[str, Any]:
    """One kind: everything that is published of it."""
    theirs = trained(kind)
    theirs.enable_truncation(MAX_TOKENS)
    (compiled,) = seconds(lambda: compile_tokenizer(theirs.to_str()), rounds=3)
    ours = session(theirs.to_str())
    prose, wrong, done = list(paragraphs()), 0, 0
    start = time.perf_counter()
    texts = random_texts(random.Random(seed), added_texts(theirs))
    while done < strings + len(prose):
        batch = prose[done : done + 2000] if done < len(prose) else list(islice(texts, 2000))
        bad = mismatches(ours, theirs, batch)
        for text in bad[:3]:
            print(f"\n{kind} differs: {text!a}", file=sys.stderr)
        wrong, done = wrong + len(bad), done + len(batch)
        print(f"\r{kind}: {done:,} compared, {wrong} differ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    compared = time.perf_counter() - start
    tokens = sum(len(ids) for ids, _ in ours.encode(prose))
    mine, his = seconds(lambda: ours.encode(prose), lambda: theirs.encode_batch_fast(prose))
    return {
        "strings": done - len(prose),
        "prose_paragraphs": len(prose),
        "prose_bytes": sum(len(text.encode()) for text in prose),
        "mismatches": wrong,
        "seconds": round(compared, 1),
        "compile_seconds": round(compiled, 2),
        "tokens_per_second": round(tokens / mine),
        "tokenizers_tokens_per_second": round(tokens / his),
        "times_faster": round(his / mine, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strings", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS, action="append", help="only this; may be repeated")
    options = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one thread each
    found = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    kinds = found.get("kinds", {})
    for kind in options.kind or KINDS:
        kinds[kind] = measure(kind, options.strings, options.seed)
        print(kind, json.dumps(kinds[kind]))
    RESULT.write_text(json.dumps({"cpu": cpu_name(), "max_tokens": MAX_TOKENS, "kinds": kinds}, indent=2) + "\n")
    if any(result["mismatches"] for result in kinds.values()):
        raise SystemExit("some texts differ")


if __name__ == "__main__":
    main()
