"""Every family and head in floats: the engine computes what PyTorch does, before anything is rounded."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from families import FAMILIES, make
from numpy.typing import NDArray

from coldpress.intake import Options, find
from coldpress.intake.source import TextEncoder
from coldpress.optimize.press import lower
from coldpress.optimize.press.calibrate import Calibration
from coldpress.optimize.press.quantize import quantize
from coldpress.package.libraries import host_architecture, own_library
from coldpress.samples import builtin_texts
from coldpress.tasks.tokenizer import load_tokenizer, prepare_tokenizer
from coldpress.verify.drift import measure
from coldpress_runtime.engines.press import Engine, Output, Session
from coldpress_runtime.faults import EngineError

Answers = list[NDArray[np.float32]]
TEXTS = builtin_texts("coldpress.verify", "samples/texts.jsonl")[::6]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder = tmp_path_factory.mktemp("engine")
    (folder / "libpress.so").write_bytes(own_library("press", host_architecture()))
    return Engine((str(folder),))


def open_lowered(engine: Engine, source: TextEncoder, folder: Path, *, rounded: bool) -> Session:
    file = lower(source)
    if rounded:
        texts = prepare_tokenizer(source).calibration()
        quantize(file, Calibration(file, texts, folder))
    file.write(folder / "model.press")
    return engine.open(str(folder), {"model": "model.press"}, 1)


def floats(output: Output, at: int) -> NDArray[np.float32]:
    start, stop = output.row(at)
    return np.frombuffer(output.raw(start, stop), dtype=np.float32)


def answers(session: Session, encoded: Any) -> Answers:
    """Ours, all texts in one batch: they must not see each other."""
    ids = [one["input_ids"] for one in encoded]
    output = session.run(ids, [one["token_type_ids"] for one in encoded])
    return [floats(output, at) for at in range(len(ids))]


def truth(model: Any, encoded: Any, pick: str) -> Answers:
    theirs = []
    with torch.inference_mode():
        for one in encoded:
            inputs = {"input_ids": torch.tensor([one["input_ids"]])}
            if getattr(model.config, "type_vocab_size", 1) > 1:
                inputs["token_type_ids"] = torch.tensor([one["token_type_ids"]])
            theirs.append(getattr(model(**inputs), pick).numpy().astype(np.float32).reshape(-1))
    return theirs


def encode(source: TextEncoder, *parts: list[str]) -> list[Any]:
    tokenizer = load_tokenizer(source)
    return [
        tokenizer(*texts, truncation=True, max_length=source.max_tokens, return_token_type_ids=True)
        for texts in zip(*parts, strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_in_floats(family: str, engine: Engine, minilm_folder: Path, tmp_path: Path) -> None:
    model = make(family, minilm_folder, tmp_path / "model")
    with find(tmp_path / "model", Options(max_tokens=128, pooling="none")) as source:
        assert isinstance(source, TextEncoder)
        encoded = encode(source, TEXTS)
        ours = answers(open_lowered(engine, source, tmp_path, rounded=False), encoded)
    assert measure(truth(model, encoded, "last_hidden_state"), ours).total <= 0.001


@pytest.mark.slow
@pytest.mark.parametrize("head", ["SequenceClassification", "TokenClassification"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_head(family: str, head: str, engine: Engine, minilm_folder: Path, tmp_path: Path) -> None:
    """Logits of five labels, in floats and in int8; pairs of texts where the family tells their parts apart."""
    # Weights as small as a config's own make every text's first vector the same: nothing to tell apart.
    model = make(family, minilm_folder, tmp_path / "model", kind=f"For{head}", num_labels=5, initializer_range=0.1)
    task = "text-classification" if head == "SequenceClassification" else "token-classification"
    with find(tmp_path / "model", Options(max_tokens=128)) as found:
        assert isinstance(found, TextEncoder)
        source = replace(found, task=task)
        paired = family in ("albert", "bert", "electra")
        encoded = encode(source, TEXTS, TEXTS[::-1]) if paired else encode(source, TEXTS)
        expected = truth(model, encoded, "logits")
        for rounded, limit in ((False, 0.001), (True, 0.15)):
            ours = answers(open_lowered(engine, source, tmp_path, rounded=rounded), encoded)
            assert measure(expected, ours).total <= limit


def test_a_mean_pooled_classifier(engine: Engine, minilm_folder: Path, tmp_path: Path) -> None:
    model = make(
        "modernbert",
        minilm_folder,
        tmp_path / "model",
        kind="ForSequenceClassification",
        classifier_pooling="mean",
        norm_bias=True,
        mlp_bias=True,
        attention_bias=True,
    )
    with find(tmp_path / "model", Options(max_tokens=128)) as found:
        assert isinstance(found, TextEncoder)
        source = replace(found, task="text-classification")
        encoded = encode(source, TEXTS)
        ours = answers(open_lowered(engine, source, tmp_path, rounded=False), encoded)
    assert measure(truth(model, encoded, "logits"), ours).total <= 0.001


def test_a_type_that_the_model_has_not_is_refused(engine: Engine, minilm_folder: Path, tmp_path: Path) -> None:
    make("bert", minilm_folder, tmp_path / "model")
    with find(tmp_path / "model", Options(max_tokens=128)) as source:
        assert isinstance(source, TextEncoder)
        session = open_lowered(engine, source, tmp_path, rounded=False)
    with pytest.raises(EngineError, match="token type"):
        session.run([[101, 102]], [[0, 2]])
