"""Compiled Unigram tokenizers give Hugging Face's ids, spans and cuts, on everything."""

import json
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coldpress
from coldpress.errors import UnsupportedModel
from coldpress.optimize.press.tokenizer import compile_tokenizer, graphemes
from coldpress.samples import builtin_texts
from coldpress_runtime.engines.press import Session
from tokenizers_exact import MAX_TOKENS, mismatches, random_texts, session
from unigram_kinds import MAKERS, xlm_roberta

SAMPLES = tuple(builtin_texts("coldpress.verify", "samples/texts.jsonl"))
VOCABULARY = 1500
ADDED = [
    "<s>",
    "</s>",
    "<mask>",
    "<mask",
    " <mask>",
    "<unk>",
    "<pad>",
    "query: ",
    "①x",
    "１x",
    "über",
    "u\u0308ber",
]
# What normalizing changes: to more, to less, to nothing, to what looks like an added token.
ODD = [
    *"！（Ａａ０＜ｕ＞｀＇ﬁﬂ①㍿㌀™℀¼ﷺㄱｶﾞ゛İſßǅ",
    "＜unk＞",
    "``",
    "''",
    "``'",
    "\x1e",
    "\xad",
    "▁",
    "▁▁",
    "  ",
    "　",
]
CLUSTERS = [
    "👩‍👩‍👧‍👦",
    "👍🏽",
    "🇩🇪🇫🇷",
    "क्षत्रिय",
    "각",
    "ᄀᄀ각",
    "\u0600a\u0301",
    "\U000110bdb",
    "\r\n",
    "x\u0303\u0323",
    "नि",
]
CLUSTERS += ["©\u200d®\u0301", "क\u094dक\u0301", "\u1039\u1000", "e\u0301\u200d", "\u0e01\u0e33", "ｶﾞ", "ﾊﾟ"]

Pair = tuple[Session, Any]


@pytest.fixture(scope="module", params=MAKERS)
def pair(request: pytest.FixtureRequest) -> Pair:
    """Ours and theirs, of each kind in turn."""
    theirs = MAKERS[request.param](SAMPLES, VOCABULARY)
    return session(theirs.to_str()), limited(theirs)


def limited(tokenizer: Any) -> Any:
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def compare(pair: Pair, texts: list[str]) -> None:
    for start in range(0, len(texts), 10_000):
        assert [ascii(text)[:300] for text in mismatches(*pair, texts[start : start + 10_000])][:3] == []


def test_prose_in_many_scripts(pair: Pair) -> None:
    compare(pair, [*SAMPLES, "", " ", "\n", "\n".join(SAMPLES[:4])])


@pytest.mark.slow
def test_every_assigned_character(pair: Pair) -> None:
    """Alone, next to letters, and next to marks."""
    points = [*range(0xD800), *range(0xE000, 0x33480), *range(0x33480, 0xE0000, 997), *range(0xE0000, 0xE0200)]
    for write in ("{0}", "{0}\u0301é{0}\u20d0 a{0}b {0} क्{0}\u0301"):
        compare(pair, [write.format(chr(point)) for point in points])


def joining() -> list[list[str]]:
    """Characters by how they join their neighbours."""
    classes = graphemes.classes()
    return [[*map(chr, np.flatnonzero(classes == kind).tolist())] for kind in range(1, int(classes.max()) + 1)]


def odd_texts(rng: random.Random) -> Iterator[str]:
    classes = joining()
    usual = random_texts(rng, ADDED)
    while True:
        made = [
            rng.choice(ODD),
            rng.choice(CLUSTERS),
            rng.choice(ADDED),
            rng.choice(rng.choice(classes)),
            next(usual)[:20],
        ]
        yield "".join(rng.choices([*made, "a", " "], k=rng.choice((2, 5, 20))))


def test_random_strings(pair: Pair) -> None:
    rng = random.Random(0)
    compare(pair, [*islice(random_texts(rng, ADDED), 2500), *islice(odd_texts(rng), 2500)])


def test_long_texts(pair: Pair) -> None:
    compare(
        pair,
        [
            "x" * 100_000,
            "日本" * 30_000,
            " " * 50_000,
            "\u0301\u0323" * 20_000,
            "ﷺ" * 20_000,
            " ".join(SAMPLES) * 3,
        ],
    )


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=200))
def test_any_text(text: str, pair: Pair) -> None:
    compare(pair, [text])


def test_any_charsmap() -> None:
    """Maps made up of characters that join in all ways: each decides where clusters end."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    rng = random.Random(0)
    for _ in range(12):
        letters = [one for kind in joining() for one in rng.choices(kind, k=4)] + [
            *"ab \r\n©®\u0301\u0302\u0600\u200d\u094dकख"
        ]
        keys = ("".join(rng.choices(letters, k=rng.choice((1, 1, 2, 3)))) for _ in range(60))
        mapping = {key: rng.choice(("", key, "x", "xy", "xyz", key * 2)) for key in keys if "\0" not in key}
        pieces = ["x", "y", "xy", "▁", *{*rng.sample(letters, 40)} - {*"xy▁"}]
        vocab = [("<unk>", 0.0), *((piece, -1.0 - at % 7) for at, piece in enumerate(pieces))]
        tokenizer = Tokenizer(models.Unigram(vocab, 0, byte_fallback=False))
        tokenizer.normalizer = normalizers.Precompiled(graphemes.charsmap(mapping))
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=rng.choice(("first", "always", "never")))
        texts = ["".join(rng.choices(letters, k=rng.randint(1, 12))) for _ in range(2000)]
        compare((session(tokenizer.to_str()), limited(tokenizer)), texts)


@pytest.mark.slow
def test_a_model_is_pressed_with_its_tokenizer(tmp_path: Path) -> None:
    """XLM-R of two narrow layers: the whole way, with nothing of `tokenizers` in the function."""
    import torch
    from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel

    tokenizer = xlm_roberta(SAMPLES, VOCABULARY)
    names = {
        "bos": "<s>",
        "eos": "</s>",
        "cls": "<s>",
        "sep": "</s>",
        "unk": "<unk>",
        "pad": "<pad>",
        "mask": "<mask>",
    }
    config = XLMRobertaConfig(
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=130,
        vocab_size=tokenizer.get_vocab_size(),
        initializer_range=0.1,
    )
    torch.manual_seed(0)
    XLMRobertaModel(config).save_pretrained(tmp_path / "tiny")
    special = {f"{name}_token": text for name, text in names.items()}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(tmp_path / "tiny")
    pressed = coldpress.build(tmp_path / "tiny", out=tmp_path / "out", engine="press", quick=True, package="none")
    assert pressed.manifest["models"]["tiny"]["tokenizer"] == "compiled"


@pytest.mark.parametrize(
    ("part", "value", "named"),
    [
        ("normalizer", {"type": "ByteLevel"}, "normalizer of the kind ByteLevel"),
        ("normalizer", {"type": "Replace", "pattern": {"Regex": "a+"}, "content": "b"}, "it replaces"),
        ("normalizer", {"type": "Replace", "pattern": {"String": ""}, "content": "b"}, "it replaces"),
        ("pre_tokenizer", {"type": "Whitespace"}, "pre-tokenizer of the kind Whitespace"),
        (
            "model",
            {"type": "Unigram", "unk_id": None, "vocab": [["a", 0.0]], "byte_fallback": False},
            "no unknown",
        ),
    ],
)
def test_what_is_not_compiled_is_refused(part: str, value: object, named: str) -> None:
    spec = json.loads(xlm_roberta(SAMPLES, VOCABULARY).to_str()) | {
        part: value,
        "added_tokens": [],
        "post_processor": None,
    }
    with pytest.raises(UnsupportedModel, match=named):
        compile_tokenizer(json.dumps(spec))
