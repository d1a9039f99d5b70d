"""The compiled tokenizer gives Hugging Face's token ids, on everything."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldpress.artifact import Artifact
from coldpress.errors import UnsupportedModel
from coldpress.intake import Options, find
from coldpress.optimize.press.tokenizer import compile_tokenizer
from coldpress.optimize.tokenizer import prepare_tokenizer
from coldpress.samples import builtin_texts
from coldpress_runtime.engines.press import Engine, Session

# Marks that canonical order moves, kept and removed; and what breaks a run of them.
MARKS = [*map(chr, range(0x300, 0x345)), *"\u0345\u0334\u0900\u1b44\u1baa\u1bf2\u1bf3\u302e\u302f\ua953\ua9c0"]
MARKS += [*"\U0001d165\U0001d16d\U00016ff0"]
LETTERS = (
    "abcdefghijklmnopqrstuvwxyzABCéößİſﬁ日本語가힣0123456789.,!?-_'\"()[]{}<> \t\n\r\x00\x7f\u200b\ufeff\ufffd"
)
WORDS = [
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "[PAD",
    "[UNK]x",
    "##ing",
    "[[MASK]]",
    "hello",
    "a" * 99,
    "b" * 100,
    "c" * 101,
    "d" * 600,
]


@pytest.fixture(scope="module")
def tokenizer_json(minilm_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    with find(minilm_folder, Options()) as source:
        return prepare_tokenizer(source, tmp_path_factory.mktemp("t") / "tokenizer.json").path.read_text()


@pytest.fixture(scope="module")
def theirs(tokenizer_json: str) -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_str(tokenizer_json)


@pytest.fixture(scope="module")
def ours(artifact: Artifact) -> Iterator[Session]:
    folder = artifact.function_folder
    spec = {"model": "model.press"}
    yield Engine((str(folder / "lib"),)).open(str(folder / "models/minilm"), spec, 1)


def compare(ours: Session, theirs: Any, texts: list[str]) -> None:
    expected = [(encoding.ids, bool(encoding.overflowing)) for encoding in theirs.encode_batch(texts)]
    for text, mine, his in zip(texts, ours.encode(texts), expected, strict=True):
        assert mine == his, ascii(text)[:300]


def test_prose_in_many_scripts(ours: Session, theirs: Any) -> None:
    compare(ours, theirs, builtin_texts("coldpress.verify", "samples/texts.jsonl"))


def test_every_assigned_character(ours: Session, theirs: Any) -> None:
    """Inside a word and alone; the planes that hold nothing are sampled."""
    points = [*range(1, 0xD800), *range(0xE000, 0x33480), *range(0x33480, 0xE0000, 997), *range(0xE0000, 0xE0200)]
    for start in range(0, len(points), 10_000):
        compare(ours, theirs, [f"a{chr(point)}b {chr(point)}" for point in points[start : start + 10_000]])


def test_random_strings(ours: Session, theirs: Any) -> None:
    rng = random.Random(0)

    def text() -> str:
        kind, length = rng.random(), rng.randint(1, 40)
        if kind < 0.3:
            return "".join(rng.choice([*MARKS, "a", "é", "!", " "]) for _ in range(length))
        if kind < 0.5:
            points = (rng.randrange(0x110000) for _ in range(length))
            return "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000)
        if kind < 0.7:
            return " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 8)))
        return "".join(rng.choice(LETTERS) for _ in range(length * 5))

    compare(ours, theirs, [text() for _ in range(5000)])


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=400))
def test_any_text(text: str, ours: Session, theirs: Any) -> None:
    compare(ours, theirs, [text])


@pytest.mark.parametrize(
    ("part", "value", "named"),
    [
        ("normalizer", {"type": "NFKC"}, "normalizer is NFKC"),
        ("pre_tokenizer", {"type": "Whitespace"}, "pre-tokenizer"),
        ("model", {"type": "BPE"}, "model is BPE"),
        (
            "post_processor",
            {"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}},
            "frames",
        ),
    ],
)
def test_what_is_not_compiled_is_refused(part: str, value: object, named: str, tokenizer_json: str) -> None:
    import json

    spec = json.loads(tokenizer_json) | {part: value}
    with pytest.raises(UnsupportedModel, match=named):
        compile_tokenizer(json.dumps(spec))
