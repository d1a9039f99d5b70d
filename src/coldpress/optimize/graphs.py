"""For onnxruntime: export a graph with PyTorch, rewrite it, save it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from coldpress.intake.source import Source
from coldpress.optimize import Candidate

SMOOTHING = 0.6
BATCH_TOKENS = 512


def graph(source: Source, precision: str, work: Path, say: Callable[[str], None]) -> Candidate:
    from coldpress.optimize import embedding_rows, export, half, matmul_int8, save, smooth
    from coldpress.optimize.tokenizer import prepare_tokenizer

    tokenizer = prepare_tokenizer(source, work / "tokenizer.json")
    say(f"exporting {source.architecture} with PyTorch")
    model = export.export(source, work)
    recipe: dict[str, Any] = {"engine": "onnxruntime", "precision": precision, "rewrites": []}
    if precision == "int8":
        say("moving outliers from activations into weights")
        model = smooth.smooth(model, smooth.feeds(tokenizer.calibration()), SMOOTHING)
        say("quantizing to int8, a scale per channel")
        model = matmul_int8.quantize(model, work)
        model = embedding_rows.quantize(model)
        recipe["rewrites"] = [f"smooth:{SMOOTHING}", "matmul-int8:per-channel,7-bit", "embedding-rows-int8"]
    say("fusing and saving the graph")
    model = save.fuse(model, work)
    if precision == "fp16":
        model = half.store_half(model)
        recipe["rewrites"] = ["store-half"]
    saved, weights = save.save(model, work)
    return Candidate(
        engine="onnxruntime",
        precision=precision,
        recipe=recipe,
        files=(saved, weights, tokenizer.path),
        model=saved.name,
        tokenizer=tokenizer.path.name,
        batch_tokens=BATCH_TOKENS,
        settings={
            "inputs": list(export.INPUTS),
            "output": export.OUTPUT,
            "pad_id": tokenizer.pad_id,
            # Whether constants wait to be folded when the session opens.
            "fold": precision == "fp16",
        },
    )
