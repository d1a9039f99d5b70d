"""For torch: the model as a TorchScript archive, in fp32, stored in halves, or with its linear layers in int8.

PyTorch calls TorchScript deprecated and offers nothing else that runs without the model's own code. What a trace
gets wrong (a model that decides by the values that it sees) is caught by drift, as everywhere.
"""

import warnings
from pathlib import Path

import torch
from torch import nn

from coldpress.errors import UnsupportedModel
from coldpress.optimize.candidate import Candidate
from coldpress.optimize.recipe import Recipe
from coldpress.progress import Say
from coldpress.tasks import Task

MODEL = "model.ts"
RECIPES = {
    "int8": Recipe("torch", "int8", ("quantize-dynamic:per-channel",)),
    "fp16": Recipe("torch", "fp16", ("half",)),
    "fp32": Recipe("torch", "fp32"),
}


def trace(task: Task, recipe: Recipe, work: Path, say: Say) -> Candidate:
    say(f"tracing {task.source.architecture}")
    try:
        with warnings.catch_warnings(), torch.inference_mode():
            warnings.simplefilter("ignore")  # of its age, and of what drift will show
            module = _prepared(task.original(), recipe.precision)
            traced = torch.jit.trace(module, task.signature().example, check_trace=False, strict=False)  # type: ignore[no-untyped-call]
            if recipe.precision == "fp16":
                traced = traced.half()
            traced.save(str(work / MODEL))
    except UnsupportedModel:
        raise
    except Exception as error:
        raise UnsupportedModel(
            f"PyTorch could not trace {task.source.origin}: {str(error).strip().splitlines()[0]}"
        ) from error
    carried = task.carry(work)
    return Candidate(
        recipe=recipe,
        files=(work / MODEL, *carried.files),
        model=MODEL,
        tokenizer=carried.tokenizer,
        batch_tokens=carried.batch_tokens,
        settings={
            "halves": recipe.precision == "fp16",
            "graph_inputs": list(task.signature().inputs),
            **carried.settings,
        },
    )


def _prepared(module: nn.Module, precision: str) -> nn.Module:
    if precision != "int8":
        return module
    if not any(isinstance(part, nn.Linear) for part in module.modules()):
        raise UnsupportedModel("it has no linear layers, and PyTorch quantizes no others without calibration")
    # A scale per channel: with one per tensor, its default, all-MiniLM-L6-v2 drifts by 0.43.
    how = {nn.Linear: torch.ao.quantization.per_channel_dynamic_qconfig}
    quantized: nn.Module = torch.ao.quantization.quantize_dynamic(module, how)  # type: ignore[no-untyped-call]
    return quantized
