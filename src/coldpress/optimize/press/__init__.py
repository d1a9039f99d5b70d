"""For the press engine: from config and safetensors straight to a press file, one file per family of models."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from coldpress.errors import UnsupportedModel
from coldpress.intake.source import TextEncoder
from coldpress.optimize.candidate import Candidate
from coldpress.optimize.press.albert import lower_albert
from coldpress.optimize.press.bert import lower_bert, lower_electra
from coldpress.optimize.press.calibrate import Calibration, Samples
from coldpress.optimize.press.clip_text import lower_clip_text
from coldpress.optimize.press.distilbert import lower_distilbert
from coldpress.optimize.press.early_pool import pool_early
from coldpress.optimize.press.file import PressFile
from coldpress.optimize.press.heads import attach_head
from coldpress.optimize.press.modernbert import lower_modernbert
from coldpress.optimize.press.mpnet import lower_mpnet
from coldpress.optimize.press.quantize import quantize
from coldpress.optimize.press.roberta import lower_roberta
from coldpress.optimize.press.tokenizer import compile_tokenizer
from coldpress.optimize.press.weights import Weights
from coldpress.optimize.recipe import Recipe
from coldpress.progress import Say
from coldpress.tasks.text import TextTask

if TYPE_CHECKING:  # which needs torch
    from coldpress.tasks.image import ImageTask

FAMILIES = {
    "albert": lower_albert,
    "bert": lower_bert,
    "camembert": lower_roberta,
    "clip": lower_clip_text,
    "clip_text_model": lower_clip_text,
    "distilbert": lower_distilbert,
    "electra": lower_electra,
    "modernbert": lower_modernbert,
    "mpnet": lower_mpnet,
    "roberta": lower_roberta,
    "xlm-roberta": lower_roberta,
}
BATCH_TOKENS = 1024


LAYERS = ("balanced-norms", "rounded-by-answers", "linear-int8:per-channel")
RECIPE = Recipe("press", "int8", (*LAYERS, "embedding-rows-int8"))
VISION_RECIPE = Recipe("press", "int8", (*LAYERS, "patches-as-bytes"))


def press(task: TextTask, work: Path, say: Say) -> Candidate:
    """Write a model as a press file; what cannot be lowered says why."""
    source, tokenizer = task.source, task.tokenizer
    say(f"lowering {source.architecture}")
    file = lower(source)
    _to_int8(file, tokenizer.calibration(pairs=task.typed), source.architecture, say)
    carried: str | None = None
    files = [work / "model.press", *task.extras(work)]
    try:
        file.tokenizer = compile_tokenizer(tokenizer.json())
        say(f"{source.architecture} in int8, its tokenizer compiled")
    except UnsupportedModel as reason:
        files.append(tokenizer.write(work / "tokenizer.json"))
        carried = files[-1].name
        say(f"{source.architecture} in int8; {reason}")
    file.write(files[0])
    return Candidate(
        recipe=RECIPE,
        files=tuple(files),
        model=files[0].name,
        tokenizer=carried,
        batch_tokens=BATCH_TOKENS,
        settings={},
    )


def press_pictures(task: "ImageTask", work: Path, say: Say) -> Candidate:
    """The same for a model that looks at pictures."""
    from coldpress.optimize.press.vision import lower_vision

    say(f"lowering {task.source.architecture}")
    model, pooled = task.lowered()
    file = lower_vision(task.source, model, pooled)
    pixels = b"".join(feed["pixels"].tobytes() for feed in task.calibration())
    _to_int8(file, pixels, task.source.architecture, say)
    file.write(work / "model.press")
    say(f"{task.source.architecture} in int8, its patches read as bytes")
    return Candidate(
        recipe=VISION_RECIPE,
        files=(work / "model.press",),
        model="model.press",
        tokenizer=None,
        batch_tokens=0,
        settings={},
    )


def _to_int8(file: PressFile, samples: Samples, architecture: str, say: Say) -> None:
    say(f"{architecture} to int8, a scale per channel")
    with tempfile.TemporaryDirectory() as scratch:
        calibration = Calibration(file, samples, Path(scratch))
        quantize(file, calibration)
        calibration.close()
    pool_early(file)


def lower(source: TextEncoder) -> PressFile:
    """The whole model in floats, head and all: exact, and slow."""
    family = FAMILIES.get(source.architecture)
    if family is None:
        raise UnsupportedModel(f"the press engine knows {', '.join(FAMILIES)}, not {source.architecture!r}")
    weights = Weights(source.folder)
    encoder = family(source, weights)
    attach_head(source, weights, encoder)
    return encoder.file
