"""The compiled WordPiece gives Hugging Face's tokens, on everything."""

import json
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldpress.artifact import Artifact
from coldpress.errors import UnsupportedModel
from coldpress.intake import Options, find
from coldpress.intake.source import TextEncoder
from coldpress.optimize.press.tokenizer import compile_tokenizer
from coldpress.tasks.tokenizer import prepare_tokenizer
from coldpress_runtime.engines.press import Engine, Session
from prose import NoProse, paragraphs
from tokenizers_exact import MAX_TOKENS, added_texts, mismatches, random_texts, session

# Marks that stay when accents are stripped, some that go, what is dropped before, and what marks stand behind.
KEPT = "\u302e\u302f\U0001d165\U0001d16d\U00016ff0"
MARKS = f"{KEPT}{KEPT}\u0300\u0334\u0345\u0328\u05b0\u094d\u0900\u0f73\u200b\u00ad\x00\ufffd"
BASES = "ab日 !\U0001d15f\U0001d160é"


@pytest.fixture(scope="module")
def tokenizer_json(minilm_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    with find(minilm_folder, Options()) as source:
        assert isinstance(source, TextEncoder)
        return prepare_tokenizer(source).json()


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
    differ = mismatches(ours, theirs, texts)
    assert not differ, ascii(min(differ, key=len))[:300]


def test_prose_in_many_scripts(ours: Session, theirs: Any) -> None:
    try:
        texts = paragraphs()
    except NoProse as reason:
        pytest.skip(str(reason))
    compare(ours, theirs, list(texts[::8]))


def test_every_assigned_character(ours: Session, theirs: Any) -> None:
    """Inside a word and alone; the planes that hold nothing are sampled."""
    points = [*range(1, 0xD800), *range(0xE000, 0x33480), *range(0x33480, 0xE0000, 997), *range(0xE0000, 0xE0200)]
    for start in range(0, len(points), 10_000):
        compare(ours, theirs, [f"a{chr(point)}b {chr(point)}" for point in points[start : start + 10_000]])


def test_random_strings(ours: Session, theirs: Any) -> None:
    compare(ours, theirs, list(islice(random_texts(random.Random(0), added_texts(theirs)), 5000)))


def test_marks_in_any_order(ours: Session, theirs: Any) -> None:
    """Marks that stay are held for the places of those that they passed."""
    rng = random.Random(0)
    texts = ["".join(rng.choices(MARKS + BASES, k=rng.choice((4, 8, 30)))) for _ in range(5000)]
    texts += ["a" * rng.randint(90, 300) + "".join(rng.choices(MARKS, k=30)) + " x" for _ in range(300)]
    compare(ours, theirs, texts)


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=400))
def test_any_text(text: str, ours: Session, theirs: Any) -> None:
    compare(ours, theirs, [text])


@pytest.mark.parametrize(
    "change",
    [
        {"lowercase": False},
        {"lowercase": False, "strip_accents": True},
        {"lowercase": True, "strip_accents": False},
        {"clean_text": False},
        {"handle_chinese_chars": False},
    ],
)
def test_other_settings_of_the_normalizer(change: dict[str, bool], tokenizer_json: str) -> None:
    from tokenizers import Tokenizer

    spec = json.loads(tokenizer_json)
    spec["normalizer"] |= change
    theirs = Tokenizer.from_str(json.dumps(spec))
    theirs.enable_truncation(MAX_TOKENS)
    rng = random.Random(0)
    texts = ["".join(rng.choices(MARKS + BASES, k=rng.choice((4, 8, 30)))) for _ in range(1000)]
    texts += islice(random_texts(rng, added_texts(theirs)), 2000)
    compare(session(theirs.to_str()), theirs, texts)


@pytest.mark.parametrize("trims", [False, True])
@pytest.mark.parametrize(
    "added",
    [
        [{"content": "<unk>"}, {"content": "<mask>", "lstrip": True, "normalized": False}],
        [{"content": "Café"}, {"content": "日本", "lstrip": True}, {"content": "a", "single_word": True}],
        [{"content": "b", "rstrip": True}, {"content": "\u302e"}, {"content": "가"}],
        [{"content": " x", "lstrip": True}, {"content": "語"}],
    ],
)
def test_added_tokens_in_the_normalized_text(
    added: list[dict[str, Any]], trims: bool, tokenizer_json: str
) -> None:
    """As MPNet's <unk>, and words that people add: a text is normalized first, and then looked through."""
    from tokenizers import Tokenizer

    spec = json.loads(tokenizer_json)
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "special"), False) | {"normalized": True}
    spec["added_tokens"] += [plain | token | {"id": 30600 + at} for at, token in enumerate(added)]
    if trims:
        frame = {"type": "RobertaProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}
        spec["post_processor"] = frame | {"trim_offsets": True, "add_prefix_space": False}
    theirs = Tokenizer.from_str(json.dumps(spec))
    theirs.enable_truncation(MAX_TOKENS)
    rng = random.Random(0)
    parts = [*MARKS, *BASES, *"abx ", *added_texts(theirs), "日本", "CAFE\u0301"]
    texts = ["".join(rng.choices(parts, k=rng.choice((4, 8, 30)))) for _ in range(1500)]
    texts += islice(random_texts(rng, added_texts(theirs)), 1500)
    compare(session(theirs.to_str()), theirs, texts)


@pytest.mark.parametrize(
    ("part", "value", "named"),
    [
        ("normalizer", {"type": "NFKC"}, "normalizer is NFKC"),
        ("pre_tokenizer", {"type": "Whitespace"}, "pre-tokenizer"),
        ("model", {"type": "WordLevel"}, "model is WordLevel"),
        (
            "post_processor",
            {"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}},
            "frames",
        ),
    ],
)
def test_what_is_not_compiled_is_refused(part: str, value: object, named: str, tokenizer_json: str) -> None:
    spec = json.loads(tokenizer_json) | {part: value}
    with pytest.raises(UnsupportedModel, match=named):
        compile_tokenizer(json.dumps(spec))
