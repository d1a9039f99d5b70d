"""Models that live in this process, and that sentence-transformers agrees with us."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import coldpress
from coldpress.errors import UsageError

TEXTS = ["hello", "a longer text than the other one, to be padded beside it", "ok"]


@pytest.fixture(scope="module")
def sentence_model(minilm_folder: Path) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(minilm_folder), device="cpu")


def test_a_sentence_transformers_object(sentence_model: Any, tmp_path: Path) -> None:
    artifact = coldpress.build(sentence_model, out=tmp_path / "out", precision="fp32", name="live", package="none")
    ours = np.array(artifact.function()({"text": TEXTS})["embeddings"])
    theirs = sentence_model.encode(TEXTS)
    assert np.abs(ours - theirs).max() < 1e-5
    assert artifact.name == "live"


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"])
def test_every_pooling_is_what_sentence_transformers_does(pooling: str, tiny_folder: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer, models

    transformer = models.Transformer(str(tiny_folder))
    theirs = SentenceTransformer(modules=[transformer, models.Pooling(64, pooling_mode=pooling)], device="cpu")
    artifact = coldpress.build(
        tiny_folder, out=tmp_path / "out", precision="fp32", pooling=pooling, package="none"
    )
    ours = np.array(artifact.function()({"text": TEXTS})["embeddings"])
    assert np.abs(ours - theirs.encode(TEXTS)).max() < 1e-4


def test_no_pooling_gives_a_vector_per_token(tiny_folder: Path, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    artifact = coldpress.build(tiny_folder, out=tmp_path / "out", precision="fp32", pooling="none", package="none")
    answers = artifact.function()({"text": TEXTS})["embeddings"]
    tokenizer, model = AutoTokenizer.from_pretrained(tiny_folder), AutoModel.from_pretrained(tiny_folder).eval()
    for text, answer in zip(TEXTS, answers, strict=True):
        with torch.inference_mode():
            expected = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].numpy()
        assert np.array(answer).shape == expected.shape
        assert np.abs(np.array(answer) - expected).max() < 1e-4


def test_a_transformers_model_with_its_tokenizer(tiny_folder: Path, tmp_path: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(tiny_folder), AutoTokenizer.from_pretrained(tiny_folder)
    artifact = coldpress.build(model, tokenizer=tokenizer, out=tmp_path / "out", precision="fp32", package="none")
    assert artifact.name == "bertmodel"
    with pytest.raises(UsageError, match="tokenizer"):
        coldpress.build(model, out=tmp_path / "other")


def test_what_is_no_text_encoder_is_refused(tmp_path: Path) -> None:
    import torch

    with pytest.raises(UsageError, match="Linear is a plain"):
        coldpress.build(torch.nn.Linear(2, 2), out=tmp_path / "out")
    with pytest.raises(UsageError, match="not a dict"):
        coldpress.build({"weights": 1}, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_prompts_are_sentence_transformers_own(tiny_folder: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    words = Transformer(str(tiny_folder))
    prompts = {"query": "query: ", "passage": "passage: ", "none": ""}
    model = SentenceTransformer(modules=[words, Pooling(64)], prompts=prompts, default_prompt_name="passage")
    model.save(str(tmp_path / "model"), create_model_card=False)
    artifact = coldpress.build(
        tmp_path / "model", out=tmp_path / "out", precision="fp32", quick=True, package="none"
    )
    function = artifact.function()
    for name in (None, "query", "passage"):
        asked = {"text": "a tram"} | ({"prompt_name": name} if name else {})
        theirs = model.encode("a tram", **({"prompt_name": name} if name else {}))
        assert np.abs(np.array(function(asked)["embeddings"][0]) - theirs).max() <= 1e-5
    refused = function({"text": "a", "prompt_name": "other"})["error"]["message"]
    assert refused == "'prompt_name' is 'other'; this model has: passage, query"
