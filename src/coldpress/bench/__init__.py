"""Bench: measured cold start, latency and memory of a function, in the local Lambda."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from coldpress.errors import FunctionError

#: 16 tokens to a BERT, the length of a search query
SHORT = "A person asks a short question and expects the answer at once, not later."


@dataclass(frozen=True)
class Figures:
    """Medians. Cold is process start to first answer; all on one core, as 1,769 MB would buy."""

    cold_ms: float
    warm_ms: float
    peak_mb: float
    runs: int


def measure(function: Path, *, cold_runs: int = 5, warm_runs: int = 50) -> Figures:
    from coldpress.emulate.sandbox import Sandbox  # whoever only reads a bench.json needs no sandboxes

    event = json.dumps({"text": SHORT}).encode()
    cold, warm, peak = [], [], 0.0
    core = {max(os.sched_getaffinity(0))}
    for run in range(cold_runs):
        with Sandbox(function, cpus=core) as sandbox:
            first = sandbox.invoke(event)
            if not first.ok:
                raise FunctionError(f"the function failed while it was measured: {first.body.decode()[:500]}")
            cold.append((first.done - sandbox.started) * 1000)
            if run == 0:
                warm = [sandbox.invoke(event).duration_ms for _ in range(warm_runs)]
            peak = max(peak, sandbox.invoke(event).peak_mb)
    return Figures(median(cold), median(warm), peak, cold_runs)
