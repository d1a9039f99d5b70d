"""Files of requests, a short text a line, and what is asked of them."""

import hashlib
import json
import random
from pathlib import Path

_WORDS = "the a small red house on hill runs quickly over green river dogs sleep birds sing in old tree by night"


def texts(count: int, seed: int = 1) -> list[str]:
    """Of three to six words each."""
    made = random.Random(seed)
    words = _WORDS.split()
    return [" ".join(made.choices(words, k=made.randint(3, 6))) for _ in range(count)]


def write_lines(path: Path, many: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in many), encoding="utf-8")
    return path


def digest(folder: Path) -> dict[str, str]:
    """Of all that a person finds there; what a job keeps for itself is hidden."""
    found = {}
    for path in sorted(folder.rglob("*.jsonl")):
        if ".coldpress" not in path.parts:
            with path.open("rb") as file:
                found[path.relative_to(folder).as_posix()] = hashlib.file_digest(file, "sha256").hexdigest()
    return found
