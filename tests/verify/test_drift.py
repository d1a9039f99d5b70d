"""Drift: zero for the same, large for the broken, and a gate that shuts."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coldpress
from coldpress.errors import DriftError
from coldpress.samples import builtin_texts
from coldpress.verify import limit_for
from coldpress.verify.drift import measure

rng = np.random.default_rng(0)
TRUTH = [rng.normal(size=8).astype(np.float32) for _ in range(20)]


def test_identical_answers_do_not_drift() -> None:
    drift = measure(TRUTH, TRUTH)
    assert (drift.total, drift.worst, drift.samples) == (0.0, 0.0, 20)
    assert drift.rank_correlation == pytest.approx(1)
    assert drift.cosine_worst == pytest.approx(1)


def test_answers_that_are_all_the_mean_drift_by_one() -> None:
    mean = np.mean(TRUTH, axis=0)
    assert measure(TRUTH, [mean] * 20).total == pytest.approx(1, abs=1e-5)


def test_centring_sees_what_cosine_does_not() -> None:
    """Answers that all look alike: mixed up, they still have a cosine of 0.99."""
    alike = [vector * 0.1 + 5 for vector in TRUTH]
    drift = measure(alike, alike[1:] + alike[:1])
    assert drift.cosine_worst > 0.99
    assert drift.total > 1


@given(st.integers(0, 19), st.floats(0.5, 5))
def test_the_worst_sample_is_named(at: int, size: float) -> None:
    moved = [vector.copy() for vector in TRUTH]
    moved[at] += np.float32(size)
    assert measure(TRUTH, moved).worst_at == at


def test_samples_of_several_sizes() -> None:
    ragged = [np.arange(size, dtype=np.float32) for size in (2, 5, 9)]
    assert measure(ragged, ragged).rank_correlation is None


def test_as_many_answers_as_samples() -> None:
    with pytest.raises(ValueError, match="19 answers to 20"):
        measure(TRUTH, TRUTH[:19])


def test_the_limits_of_fp32_and_fp16_are_not_for_sale() -> None:
    assert (limit_for("fp32", 9), limit_for("fp16", 9), limit_for("int8", 9)) == (0.001, 0.01, 9)


def test_a_build_over_the_limit_fails_and_says_what_to_do(tiny_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DriftError, match=r"drifts 0\.\d+ .* limit is 1e-06.*--precision fp16"):
        coldpress.build(tiny_folder, out=tmp_path / "out", precision="int8", max_drift=1e-6)
    assert list(tmp_path.iterdir()) == []


def test_the_built_in_samples_are_many_and_varied() -> None:
    texts = builtin_texts("coldpress.verify", "samples/texts.jsonl")
    calibration = builtin_texts("coldpress.optimize", "calibration/texts.jsonl")
    assert len(set(texts)) == len(texts) >= 200
    assert not set(texts) & set(calibration), "what calibrates must not judge"
    assert any("😀" <= char <= "🫿" for text in texts for char in text)
    assert any("一" <= char <= "鿿" for text in texts for char in text)
    assert min(map(len, texts)) == 0
    assert max(map(len, texts)) > 1000
