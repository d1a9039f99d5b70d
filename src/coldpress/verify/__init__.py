"""Verify: prove that the pressed function still answers as the original model does."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from coldpress.emulate.sandbox import Sandbox
from coldpress.errors import DriftError
from coldpress.tasks import Answer, Request, Task
from coldpress.verify.drift import Drift, measure_parts

__all__ = ["LIMITS", "Drift", "Questions", "Verdict", "answer_of", "limit_for", "verify"]

#: What each precision must stay under. Only the one for int8 is a matter of taste.
LIMITS = {"fp32": 0.001, "fp16": 0.01, "int8": 0.15}


@dataclass(frozen=True)
class Questions:
    """Requests, and what the original model answers to them."""

    requests: list[Request]
    truth: list[Answer]

    def digest(self) -> str:
        seen = hashlib.sha256(json.dumps(self.requests).encode())
        for parts in self.truth:
            for part in parts:
                seen.update(part.tobytes())
        return seen.hexdigest()


@dataclass(frozen=True)
class Verdict:
    drift: Drift
    limit: float
    worst_sample: str

    @property
    def passed(self) -> bool:
        return self.drift.total <= self.limit  # not when it is not a number

    def __str__(self) -> str:
        return (
            f"drifts {self.drift.total:.4f} from the original; the limit is {self.limit:g}. "
            f"Worst on {self.worst_sample[:80]} ({self.drift.worst:.3f})"
        )

    def json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, content: dict[str, Any]) -> "Verdict":
        return cls(Drift(**content["drift"]), content["limit"], content["worst_sample"])


def limit_for(precision: str, asked: float | None) -> float:
    if precision == "int8" and asked is not None:
        return asked
    return LIMITS[precision]


def verify(task: Task, questions: Questions, sandbox: Callable[[], Sandbox], limit: float) -> Verdict:
    """Ask the function in a sandbox what the original was asked, one question at a time."""
    with sandbox() as asked:
        answers = [task.read(answer_of(asked, request)) for request in questions.requests]
    drift = measure_parts(questions.truth, answers)
    return Verdict(drift, limit, json.dumps(questions.requests[drift.worst_at], ensure_ascii=False)[:500])


def answer_of(sandbox: Sandbox, request: Request) -> Any:
    invoked = sandbox.invoke(json.dumps(request).encode())
    answer = json.loads(invoked.body)
    if not invoked.ok or "error" in answer:
        said = answer["error"]["message"] if "error" in answer else answer.get("errorMessage", answer)
        raise DriftError(f"the pressed function did not answer {json.dumps(request)[:80]}: {said}")
    return answer
