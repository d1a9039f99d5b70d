"""Verify: prove that the pressed function still answers as the original model does."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coldpress.errors import DriftError
from coldpress.intake.source import Source
from coldpress.samples import builtin_texts
from coldpress.verify.drift import Drift, measure

__all__ = ["LIMITS", "Drift", "Verdict", "limit_for", "verify"]

#: What each precision must stay under. Only the one for int8 is a matter of taste.
LIMITS = {"fp32": 0.001, "fp16": 0.01, "int8": 0.15}


@dataclass(frozen=True)
class Verdict:
    drift: Drift
    limit: float
    worst_text: str

    def enforce(self, precision: str) -> None:
        if not self.drift.total <= self.limit:  # also when it is not a number
            gentler = {"int8": "fp16", "fp16": "fp32"}.get(precision)
            way_out = f"try --precision {gentler}" if gentler else "this is a fault of coldpress: please report it"
            raise DriftError(
                f"the {precision} model drifts {self.drift.total:.4f} from the original; "
                f"the limit is {self.limit}. Worst on {self.worst_text[:60]!r} ({self.drift.worst:.3f}); {way_out}"
            )


def limit_for(precision: str, asked: float | None) -> float:
    if precision == "int8" and asked is not None:
        return asked
    return LIMITS[precision]


def verify(source: Source, function: Path, precision: str, max_drift: float | None = None) -> Verdict:
    """Ask the original model and the function at `function` the same questions, one at a time."""
    from coldpress.verify.original import original_answers
    from coldpress_runtime.function import Function

    texts = builtin_texts("coldpress.verify", "samples/texts.jsonl")
    truth = original_answers(source, texts)
    pressed = Function(str(function))
    answers = [_vector(pressed.handle({"text": text})) for text in texts]
    drift = measure(truth, answers)
    return Verdict(drift, limit_for(precision, max_drift), texts[drift.worst_at])


def _vector(answer: str) -> NDArray[np.float32]:
    parsed = json.loads(answer)
    if "error" in parsed:
        raise DriftError(f"the pressed function refused a sample: {parsed['error']['message']}")
    return np.array(parsed["embeddings"][0], dtype=np.float32).reshape(-1)
