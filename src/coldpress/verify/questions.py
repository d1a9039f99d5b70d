"""What to ask, and the truth: the built-in samples or a person's own, answered by the original model."""

import json
from pathlib import Path

import numpy as np

from coldpress.cache import cached, digest
from coldpress.errors import UsageError
from coldpress.optimize import identity
from coldpress.tasks import Answer, Request, Task
from coldpress.verify import Questions

MOST_SAMPLES = 10_000
_FILE = "truth.npz"


def questions_for(task: Task, samples: Path | None) -> Questions:
    requests = task.samples() if samples is None else [*map(task.question, read_samples(samples))]
    known = identity(task.source)
    if known is None:
        return Questions(requests, task.truth(requests))
    key = [known, digest(requests)]
    return Questions(requests, _load(cached("truth", key, lambda folder: _save(folder, task.truth(requests)))))


def read_samples(path: Path) -> list[Request]:
    """Requests from a file of JSON Lines, one object on each."""
    try:
        # Not splitlines(): a text may hold any of the characters that it would split at.
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--samples {path} cannot be read: {error}") from None
    requests: list[Request] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            request = json.loads(line)
        except ValueError as error:
            raise UsageError(f"--samples {path}, line {number}: not JSON: {error}") from None
        if not isinstance(request, dict):
            raise UsageError(f"--samples {path}, line {number}: a sample is a JSON object, not {line[:60]}")
        requests.append(request)
    if not 1 <= len(requests) <= MOST_SAMPLES:
        raise UsageError(f"--samples {path} holds {len(requests)} samples; it takes from 1 to {MOST_SAMPLES}")
    return requests


def _save(folder: Path, truth: list[Answer]) -> None:
    arrays = {f"{at}.{part}": array for at, parts in enumerate(truth) for part, array in enumerate(parts)}
    with (folder / _FILE).open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # its stub takes a flag for one of the names


def _load(folder: Path) -> list[Answer]:
    with np.load(folder / _FILE, allow_pickle=False) as arrays:
        answers: dict[int, list[np.ndarray]] = {}
        for name in arrays.files:
            answers.setdefault(int(name.split(".")[0]), []).append(arrays[name])
    return [tuple(answers[at]) for at in range(len(answers))]
