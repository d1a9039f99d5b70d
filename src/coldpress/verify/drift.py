"""Drift: how far answers are from the original's, without labels.

drift = ‖ŷ − y‖ / ‖y − mean(y)‖ over all samples. Centring matters: models whose answers all look
alike score a cosine of 0.99 even when they are broken.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coldpress.errors import DriftError
from coldpress.tasks import Answer

Vectors = Sequence[NDArray[np.float32]]

_CONSTANT = 1e-3  # answers whose spread is a smaller part of them than this count as constant


@dataclass(frozen=True)
class Drift:
    total: float
    #: of the sample that drifts most, and where it stands among the samples
    worst: float
    worst_at: int
    cosine_mean: float
    cosine_worst: float
    #: how well the order of pairwise similarities is kept; None when samples differ in size
    rank_correlation: float | None
    samples: int


def measure_parts(truth: Sequence[Answer], answers: Sequence[Answer]) -> Drift:
    """The drift of the part of the answers that drifts most."""
    parts = zip(zip(*truth, strict=True), zip(*answers, strict=True), strict=True)
    return max((measure(right, ours) for right, ours in parts), key=_badness)


def _badness(drift: Drift) -> float:
    return drift.total if np.isfinite(drift.total) else np.inf


def measure(truth: Vectors, answers: Vectors) -> Drift:
    if len(truth) != len(answers) or not truth:
        raise ValueError(f"{len(answers)} answers to {len(truth)} samples")
    for right, ours in zip(truth, answers, strict=True):
        if right.shape != ours.shape:
            raise DriftError(f"the pressed function answers {ours.size} numbers, the original {right.size}")
    sizes = {vector.size for vector in truth}
    alike = len(sizes) == 1 and len(truth) > 1
    mean = np.mean(truth, axis=0) if alike else np.float32(np.concatenate(list(truth)).mean())
    spread = np.array([float(np.sum((y - mean) ** 2)) for y in truth])
    # An answer that never varies is compared to its own size instead of to its spread.
    spread = np.maximum(spread, [_CONSTANT**2 * float(np.sum(y**2)) for y in truth])
    error = np.array([float(np.sum((ours - y) ** 2)) for ours, y in zip(answers, truth, strict=True)])
    cosines = [_cosine(ours, y) for ours, y in zip(answers, truth, strict=True)]
    worst = int(np.argmax(error))
    return Drift(
        total=float(np.sqrt(error.sum() / max(spread.sum(), 1e-30))),
        worst=float(np.sqrt(error[worst] / max(spread.mean(), 1e-30))),
        worst_at=worst,
        cosine_mean=float(np.mean(cosines)),
        cosine_worst=float(np.min(cosines)),
        rank_correlation=_rank_correlation(truth, answers) if len(sizes) == 1 and len(truth) > 2 else None,
        samples=len(truth),
    )


def _cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    return float(a @ b / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-30))


def _rank_correlation(truth: Vectors, answers: Vectors) -> float:
    """Spearman's, between the similarities of all pairs before and after."""

    def ranks(vectors: Vectors) -> NDArray[np.float64]:
        matrix = np.stack(list(vectors)).astype(np.float64)
        matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-30)
        upper = (matrix @ matrix.T)[np.triu_indices(len(matrix), 1)]
        return np.argsort(np.argsort(upper)).astype(np.float64)

    return float(np.corrcoef(ranks(truth), ranks(answers))[0, 1])
