"""The demo: all of it on the embedded model, ending in one table."""

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from coldpress.artifact import Artifact
from coldpress.bench import Figures, measure
from coldpress.build import build
from coldpress.cost import lambda_cost_per_million
from coldpress.progress import Progress

MODEL = "demo:minilm"
MEMORY_MB = 1769  # one vCPU, which is what the figures are measured on


@dataclass(frozen=True)
class Demo:
    artifact: Artifact
    figures: Figures
    cost_per_million: float
    #: the classic PyTorch handler's figures, from the last run of benchmarks/cold_start.py
    classic: dict[str, Any]


def run_demo(out: Path, progress: Progress) -> Demo:
    artifact = build(MODEL, out=out, quick=True, progress=progress)
    with progress.stage("measure") as say:
        say("cold starts and warm requests on one core")
        figures = measure(artifact.function_folder)
        say(f"{figures.runs} cold starts, medians")
    return Demo(artifact, figures, lambda_cost_per_million(figures.warm_ms, MEMORY_MB), classic_figures())


def classic_figures() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(files("coldpress").joinpath("classic.json").read_text("utf-8"))
    return content
