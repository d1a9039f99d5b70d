"""Compiled byte-level BPE gives Hugging Face's tokens, on everything."""

import copy
import json
import os
import random
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coldpress
from coldpress.errors import UnsupportedModel
from coldpress.optimize.press.tokenizer import compile_tokenizer
from coldpress_runtime.engines.press import Session
from prose import NoProse, paragraphs
from tokenizer_kinds import trained
from tokenizers_exact import MAX_TOKENS, added_texts, mismatches, random_texts, session

Pair = tuple[Session, Any]
FRAME = {"sep": ["b", 2], "cls": ["a", 1]}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}


def pair_of(spec: dict[str, Any]) -> Pair:
    """Ours, and theirs."""
    from tokenizers import Tokenizer

    theirs = Tokenizer.from_str(json.dumps(spec))
    theirs.enable_truncation(MAX_TOKENS)
    return session(theirs.to_str()), theirs


def spec_of(kind: str) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(trained(kind).to_str())
    return spec


@pytest.fixture(scope="module", params=["roberta", "modernbert"])
def pair(request: pytest.FixtureRequest) -> Pair:
    return pair_of(spec_of(request.param))


def compare(pair: Pair, texts: list[str]) -> None:
    differ = mismatches(*pair, texts)
    assert not differ, ascii(min(differ, key=len))[:300]


def strings(pair: Pair, count: int, seed: int = 0) -> list[str]:
    return list(islice(random_texts(random.Random(seed), added_texts(pair[1])), count))


def test_prose_in_many_scripts(pair: Pair) -> None:
    try:
        texts = paragraphs()
    except NoProse as reason:
        pytest.skip(str(reason))
    compare(pair, list(texts[::8]))


def test_every_assigned_character(pair: Pair) -> None:
    """Inside a word, alone, and before a mark; the planes that hold nothing are sampled."""
    points = [*range(1, 0xD800), *range(0xE000, 0x33480), *range(0x33480, 0xE0000, 997), *range(0xE0000, 0xE0200)]
    for start in range(0, len(points), 10_000):
        some = [chr(point) for point in points[start : start + 10_000]]
        compare(pair, [f"a{character}1{character} {character}\u0301 !{character}" for character in some])


def test_random_strings(pair: Pair) -> None:
    compare(pair, strings(pair, 5000))


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=400))
def test_any_text(text: str, pair: Pair) -> None:
    compare(pair, [text])


@pytest.mark.parametrize("word", ["a", "ab", "xyzw", "日本語", "e\u0301", "\u0301\u0323", "가", "7", "  ", "!?"])
def test_a_word_without_end(word: str, pair: Pair) -> None:
    text = word * (100_000 // len(word))
    start = time.monotonic()
    pair[0].encode_spans([text, f"{text} and more"])
    assert time.monotonic() - start < 5
    compare(pair, [text[:20_000], f"so {text[:30_000]} and more"])


@pytest.mark.parametrize("kind", ["roberta", "modernbert"])
@pytest.mark.parametrize(
    "change",
    [
        {"pre_tokenizer": BYTE_LEVEL},
        {"model": {"ignore_merges": True}},
        {"post_processor": None},
        {"post_processor": BYTE_LEVEL},
        {"post_processor": BYTE_LEVEL | {"add_prefix_space": False}},
        {"post_processor": BYTE_LEVEL | {"trim_offsets": False}},
        {"post_processor": FRAME | {"type": "BertProcessing"}},
        {"post_processor": FRAME | {"type": "RobertaProcessing", "trim_offsets": True, "add_prefix_space": True}},
        {"post_processor": {"type": "Sequence", "processors": [BYTE_LEVEL]}},
    ],
)
def test_variants(kind: str, change: dict[str, Any]) -> None:
    spec = spec_of(kind)
    for part, value in change.items():
        spec[part] = value if part != "model" else spec[part] | value
    pair = pair_of(spec)
    compare(pair, strings(pair, 1500, seed=1))


def token(content: str, **rules: bool) -> dict[str, Any]:
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return {"id": 0, "content": content} | plain | rules


@pytest.mark.parametrize("kind", ["roberta", "modernbert"])
@pytest.mark.parametrize(
    "added",
    [
        [token("  ", lstrip=True), token("\n", lstrip=True, normalized=True), token(" c", lstrip=True)],
        [token("ab", rstrip=True), token("x\n", rstrip=True, lstrip=True), token("c ", rstrip=True)],
        [token("éa", normalized=True, lstrip=True), token("e\u0301o", normalized=True, rstrip=True)],
        [token("a", single_word=True), token("日", single_word=True, normalized=True), token("\u0301")],
        [token("가", normalized=True), token("aa"), token("aab"), token("b", normalized=True), token("'s")],
    ],
)
def test_added_tokens(kind: str, added: list[dict[str, Any]]) -> None:
    spec = spec_of(kind)
    strips = any(token["rstrip"] for token in added)
    own = [token for token in spec["added_tokens"] if not (strips and token["content"].isspace())]
    names = {token["content"] for token in added}
    first = max(*spec["model"]["vocab"].values(), *(token["id"] for token in own)) + 1
    new = [token | {"id": first + at} for at, token in enumerate(copy.deepcopy(added))]
    spec["added_tokens"] = [token for token in own if token["content"] not in names] + new
    pair = pair_of(spec)
    compare(pair, strings(pair, 1500, seed=2))
    rng = random.Random(3)
    parts = [*names, *"abcxe 日\n\u0301.", "  ", "\u3000", "ex"]
    compare(pair, ["".join(rng.choices(parts, k=rng.randint(1, 12))) for _ in range(3000)])


@pytest.mark.parametrize(
    ("part", "value", "named"),
    [
        ("normalizer", {"type": "NFKC"}, "normalizer is NFKC"),
        ("pre_tokenizer", {"type": "Whitespace"}, "pre-tokenizer is Whitespace"),
        ("pre_tokenizer", BYTE_LEVEL | {"use_regex": False}, "as GPT-2 does"),
        ("model", {"byte_fallback": True}, "byte fallback"),
        ("model", {"dropout": 0.5}, "dropout"),
        ("model", {"end_of_word_suffix": "</w>"}, "end of word suffix"),
        ("added_tokens", [token("a", rstrip=True), token(" b")], "which others begin with"),
    ],
)
def test_what_is_not_compiled_is_refused(part: str, value: Any, named: str) -> None:
    spec = spec_of("roberta")
    if part == "model":
        value = spec["model"] | value
    elif part == "added_tokens":
        first = max(spec["model"]["vocab"].values()) + 10
        value = spec[part] + [token | {"id": first + at} for at, token in enumerate(value)]
    with pytest.raises(UnsupportedModel, match=named):
        compile_tokenizer(json.dumps(spec | {part: value}))


def test_a_byte_without_a_token_is_refused() -> None:
    spec = spec_of("roberta")
    del spec["model"]["vocab"]["ð"]
    spec["model"]["merges"] = []
    with pytest.raises(UnsupportedModel, match="no token for 1 bytes"):
        compile_tokenizer(json.dumps(spec))


def test_a_roberta_is_pressed_with_its_tokenizer(tmp_path: Path) -> None:
    """Through transformers, as people save it; drift is measured against PyTorch with Hugging Face's tokens."""
    import torch
    from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaModel

    torch.manual_seed(0)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=trained("roberta"), pad_token="<pad>", mask_token="<mask>"
    )
    tokenizer.save_pretrained(tmp_path / "model")
    config = RobertaConfig(
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        vocab_size=len(tokenizer),
        max_position_embeddings=130,
        pad_token_id=1,
    )
    RobertaModel(config).save_pretrained(tmp_path / "model")
    pressed = coldpress.build(tmp_path / "model", out=tmp_path / "out", engine="press", quick=True, package="none")
    assert pressed.measured()["candidates"][0]["verdict"]["drift"]["total"] < 0.06
    assert not [*pressed.function_folder.rglob("tokenizer.json"), *pressed.function_folder.rglob("tokenizers*")]


@pytest.mark.parametrize("kind", ["modernbert", "multilingual_e5", "camembert"])
def test_memory_that_is_not_there(kind: str) -> None:
    """A word of a million letters where no memory is left: an error, and the next text is served."""
    script = """
import resource, sys
from tokenizer_kinds import trained
from tokenizers_exact import session
from coldpress_runtime.faults import EngineError
ours = session(trained(sys.argv[1]).to_str())
long, many = "x" * 3_000_000, "e\\u0301" * 2_000_000
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (24 << 20), -1))
for text in (long, many):
    try:
        ours.encode([text])
    except EngineError as error:
        print(error)
print(len(ours.encode(["hello"])[0][0]))
"""
    root = Path(__file__).parents[2]
    paths = os.pathsep.join([str(Path(coldpress.__file__).parents[1]), str(root / "benchmarks")])
    done = subprocess.run(
        [sys.executable, "-c", script, kind],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": paths},
    )
    assert done.returncode == 0, done.stderr
    first, second, last = done.stdout.splitlines()
    assert "not enough memory" in first
    assert "not enough memory" in second
    assert int(last) >= 3
