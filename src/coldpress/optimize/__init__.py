"""Optimize: from a source to a graph that the engine runs as fast as it can and still right."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coldpress.intake.source import Source

__all__ = ["PRECISIONS", "Candidate", "optimize"]

PRECISIONS = ("fp32", "fp16", "int8")
SMOOTHING = 0.6


@dataclass(frozen=True)
class Candidate:
    """A graph on disk and the recipe that made it."""

    engine: str
    precision: str
    recipe: dict[str, Any]
    #: file names among `files`: the graph that the engine opens, and the tokenizer
    model: str
    tokenizer: str
    #: whether constants wait to be folded when the session opens
    fold: bool
    files: tuple[Path, ...]
    inputs: tuple[str, ...]
    output: str
    pad_id: int


def optimize(source: Source, precision: str, work: Path, say: Callable[[str], None]) -> Candidate:
    """Export, rewrite and save `source` in `precision`, with files in the folder `work`."""
    from coldpress.optimize import embedding_rows, export, half, matmul_int8, save, smooth
    from coldpress.optimize.tokenizer import prepare_tokenizer

    tokenizer = prepare_tokenizer(source, work / "tokenizer.json")
    say(f"exporting {source.architecture} with PyTorch")
    model = export.export(source, work)
    recipe: dict[str, Any] = {"engine": "onnxruntime", "precision": precision, "rewrites": []}
    if precision == "int8":
        say("moving outliers from activations into weights")
        model = smooth.smooth(model, tokenizer.calibration(), SMOOTHING)
        say("quantizing to int8, a scale per channel")
        model = matmul_int8.quantize(model, work)
        model = embedding_rows.quantize(model)
        recipe["rewrites"] = [f"smooth:{SMOOTHING}", "matmul-int8:per-channel,7-bit", "embedding-rows-int8"]
    say("fusing and saving the graph")
    model = save.fuse(model, work)
    if precision == "fp16":
        model = half.store_half(model)
        recipe["rewrites"] = ["store-half"]
    graph, weights = save.save(model, work)
    return Candidate(
        engine="onnxruntime",
        precision=precision,
        recipe=recipe,
        model=graph.name,
        fold=precision == "fp16",
        tokenizer=tokenizer.path.name,
        files=(graph, weights, tokenizer.path),
        inputs=export.INPUTS,
        output=export.OUTPUT,
        pad_id=tokenizer.pad_id,
    )
