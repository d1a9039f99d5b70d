"""For onnxruntime: an exported graph, rewritten as a recipe says, and saved."""

import tempfile
from pathlib import Path

import onnx

from coldpress.errors import UnsupportedModel
from coldpress.optimize.candidate import Candidate
from coldpress.optimize.recipe import Recipe
from coldpress.optimize.rewrites import Context, find_rewrite
from coldpress.optimize.save import save
from coldpress.progress import Say
from coldpress.tasks import Task

#: how much a session still has to optimize when it opens: nothing, constants to fold, memory layouts to choose
_LEVELS = {"half": 1, "layout": 99}


def rewrite(task: Task, recipe: Recipe, exported: Path, work: Path, say: Say) -> Candidate:
    model = onnx.load(exported)
    level = 0
    with tempfile.TemporaryDirectory() as scratch:
        context = Context(task.calibration, task.probes, Path(scratch), recipe.keep)
        for step in recipe.rewrites:
            name, _, setting = step.partition(":")
            level = max(level, _LEVELS.get(name, 0))
            if name == "layout":  # done by the session, for the CPU that it finds itself on
                continue
            say(f"{recipe.engine} {recipe.precision}: {step}")
            change = find_rewrite(name)
            try:
                model = change(model, context, setting)
            except Exception as error:  # libraries fail in as many ways as there are graphs
                raise UnsupportedModel(f"{step} fails on this graph: {type(error).__name__}: {error}") from error
    saved, weights = save(model, work)
    carried = task.carry(work)
    signature = task.signature()
    return Candidate(
        recipe=recipe,
        files=(saved, weights, *carried.files),
        model=saved.name,
        tokenizer=carried.tokenizer,
        batch_tokens=carried.batch_tokens,
        settings={
            "graph_inputs": list(signature.inputs),
            "graph_outputs": list(signature.outputs),
            "level": level,
            **carried.settings,
        },
    )
