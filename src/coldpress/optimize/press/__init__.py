"""For the press engine: from config and safetensors straight to a press file, one file per family of models."""

import tempfile
from pathlib import Path

from coldpress.errors import UnsupportedModel
from coldpress.intake.source import TextEncoder
from coldpress.optimize.candidate import Candidate
from coldpress.optimize.press.albert import lower_albert
from coldpress.optimize.press.bert import lower_bert, lower_electra
from coldpress.optimize.press.calibrate import Calibration
from coldpress.optimize.press.distilbert import lower_distilbert
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

FAMILIES = {
    "albert": lower_albert,
    "bert": lower_bert,
    "camembert": lower_roberta,
    "distilbert": lower_distilbert,
    "electra": lower_electra,
    "modernbert": lower_modernbert,
    "mpnet": lower_mpnet,
    "roberta": lower_roberta,
    "xlm-roberta": lower_roberta,
}
BATCH_TOKENS = 1024


RECIPE = Recipe(
    "press", "int8", ("balanced-norms", "rounded-by-answers", "linear-int8:per-channel", "embedding-rows-int8")
)


def press(task: TextTask, work: Path, say: Say) -> Candidate:
    """Write a model as a press file; what cannot be lowered says why."""
    source, tokenizer = task.source, task.tokenizer
    say(f"lowering {source.architecture}")
    file = lower(source)
    say(f"{source.architecture} to int8, a scale per channel")
    with tempfile.TemporaryDirectory() as scratch:
        calibration = Calibration(file, tokenizer.calibration(pairs=task.typed), Path(scratch))
        quantize(file, calibration)
        calibration.close()
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


def lower(source: TextEncoder) -> PressFile:
    """The whole model in floats, head and all: exact, and slow."""
    family = FAMILIES.get(source.architecture)
    if family is None:
        raise UnsupportedModel(f"the press engine knows {', '.join(FAMILIES)}, not {source.architecture!r}")
    weights = Weights(source.folder)
    encoder = family(source, weights)
    attach_head(source, weights, encoder)
    return encoder.file
