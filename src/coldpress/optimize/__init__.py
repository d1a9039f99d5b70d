"""Optimize: from a source to what an engine runs as fast as it can and still right."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coldpress.intake.source import Source

__all__ = ["ENGINES", "PRECISIONS", "Candidate", "engines_for", "optimize"]

PRECISIONS = ("fp32", "fp16", "int8")
ENGINES = ("auto", "press", "onnxruntime")


@dataclass(frozen=True)
class Candidate:
    """A model on disk and the recipe that made it."""

    engine: str
    precision: str
    recipe: dict[str, Any]
    files: tuple[Path, ...]
    #: file names among `files`: what the engine opens, and the tokenizer unless the model carries it
    model: str
    tokenizer: str | None
    #: texts run together up to this many tokens: more gains no speed on a vCPU, only memory
    batch_tokens: int
    #: what else the engine wants to know, for task.json
    settings: dict[str, Any]


def engines_for(engine: str, precision: str) -> tuple[str, ...]:
    """Which engines to try, the best first. Press computes in int8 only."""
    if engine == "auto":
        return ("press", "onnxruntime") if precision == "int8" else ("onnxruntime",)
    return (engine,)


def optimize(source: Source, precision: str, engine: str, work: Path, say: Callable[[str], None]) -> Candidate:
    """Make `source` ready for one engine, with files in the folder `work`; what it cannot run says why."""
    if engine == "press":
        from coldpress.optimize.press import press

        return press(source, work, say)
    from coldpress.optimize.graphs import graph

    return graph(source, precision, work, say)
