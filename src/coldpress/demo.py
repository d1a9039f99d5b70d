"""The demo: all of it on the embedded model, ending in one table."""

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from coldpress.artifact import Artifact
from coldpress.bench import Figures, measure
from coldpress.build import build
from coldpress.cost import lambda_cost_per_million
from coldpress.progress import Progress

MODEL = "demo:minilm"
MEMORY_MB = 1769  # one vCPU, which is what the figures are measured on


EVENT = {"text": "hello, world"}


@dataclass(frozen=True)
class Served:
    """The first answer of the local Lambda, and what Lambda's log would say of it."""

    answer: dict[str, Any]
    init_ms: float
    duration_ms: float
    billed_ms: int
    memory_mb: float


@dataclass(frozen=True)
class Demo:
    artifact: Artifact
    served: Served
    figures: Figures
    cost_per_million: float
    #: the classic PyTorch handler's figures, from the last run of benchmarks/cold_start.py
    classic: dict[str, Any]


def run_demo(out: Path, progress: Progress) -> Demo:
    artifact = build(MODEL, out=out, quick=True, progress=progress)
    with progress.stage("serve") as say:
        say("in the local Lambda")
        served = serve(artifact)
        say(f"init {served.init_ms:.1f} ms, billed {served.billed_ms} ms, {served.memory_mb:.0f} MB")
    with progress.stage("measure") as say:
        say("cold starts and warm requests on one core")
        figures = measure(artifact.function_folder)
        say(f"{figures.runs} cold starts, medians")
    return Demo(artifact, served, figures, lambda_cost_per_million(figures.warm_ms, MEMORY_MB), classic_figures())


def serve(artifact: Artifact) -> Served:
    """Serve it as Lambda would, invoke it once by the Invoke API, and read the record of it."""
    with artifact.serve(memory_mb=MEMORY_MB) as url:
        path = f"/2015-03-31/functions/{artifact.name}/invocations"
        request = Request(f"{url}{path}", json.dumps(EVENT).encode(), {"Content-Type": "application/json"})  # noqa: S310
        with urlopen(request) as response:  # noqa: S310 - our own address
            answer = json.load(response)
        with urlopen(f"{url}/_/status") as response:  # noqa: S310
            (record,) = json.load(response)["requests"]
    figures = (record[name] for name in ("init_ms", "duration_ms", "billed_ms", "memory_mb"))
    return Served(answer, *figures)


def classic_figures() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(files("coldpress").joinpath("classic.json").read_text("utf-8"))
    return content
