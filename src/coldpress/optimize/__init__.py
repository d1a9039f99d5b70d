"""Optimize: from a source to what an engine runs as fast as it can and still right."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coldpress.errors import UnsupportedModel
from coldpress.intake.source import Source

__all__ = ["ENGINES", "PRECISIONS", "Candidate", "optimize"]

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


def optimize(source: Source, precision: str, engine: str, work: Path, say: Callable[[str], None]) -> Candidate:
    """Make `source` ready for an engine, with files in the folder `work`. `auto` takes press where it can."""
    if engine == "press" or (engine == "auto" and precision == "int8"):
        from coldpress.optimize.press import press

        try:
            return press(source, work, say)
        except UnsupportedModel as reason:
            if engine == "press":
                raise
            say(f"not press: {reason}")
    from coldpress.optimize.graphs import graph

    return graph(source, precision, work, say)
