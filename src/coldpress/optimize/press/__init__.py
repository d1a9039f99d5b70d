"""For the press engine: from config and safetensors straight to a press file, one file per family of models."""

from collections.abc import Callable
from pathlib import Path

from coldpress.errors import UnsupportedModel
from coldpress.intake.source import Source
from coldpress.optimize import Candidate
from coldpress.optimize.press.albert import lower_albert
from coldpress.optimize.press.bert import lower_bert
from coldpress.optimize.press.distilbert import lower_distilbert
from coldpress.optimize.press.roberta import lower_roberta
from coldpress.optimize.press.tokenizer import compile_tokenizer
from coldpress.optimize.tokenizer import prepare_tokenizer

FAMILIES = {
    "albert": lower_albert,
    "bert": lower_bert,
    "camembert": lower_roberta,
    "distilbert": lower_distilbert,
    "electra": lower_bert,
    "roberta": lower_roberta,
    "xlm-roberta": lower_roberta,
}
BATCH_TOKENS = 1024


def press(source: Source, work: Path, say: Callable[[str], None]) -> Candidate:
    """Write `source` as a press file; what cannot be lowered says why."""
    family = FAMILIES.get(source.architecture)
    if family is None:
        raise UnsupportedModel(f"the press engine knows {', '.join(FAMILIES)}, not {source.architecture!r}")
    tokenizer = prepare_tokenizer(source, work / "tokenizer.json")
    say(f"lowering {source.architecture} to int8, a scale per channel")
    file = family(source)
    carried: str | None = tokenizer.path.name
    files = [work / "model.press"]
    try:
        file.tokenizer = compile_tokenizer(tokenizer.path.read_text(encoding="utf-8"))
        carried = None
        say(f"{source.architecture} in int8, its tokenizer compiled")
    except UnsupportedModel as reason:
        files.append(tokenizer.path)
        say(f"{source.architecture} in int8; {reason}")
    file.write(files[0])
    rewrites = ["linear-int8:per-channel", "embedding-rows-int8"]
    return Candidate(
        engine="press",
        precision="int8",
        recipe={"engine": "press", "precision": "int8", "rewrites": rewrites, "tokenizer": carried or "compiled"},
        files=tuple(files),
        model=files[0].name,
        tokenizer=carried,
        batch_tokens=BATCH_TOKENS,
        settings={},
    )
