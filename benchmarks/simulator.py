"""The traffic simulator: how fast it is, how close to queueing theory, and how close to the local Lambda.

python benchmarks/simulator.py
"""

import json
import math
import resource
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean
from typing import Any

from coldpress.cost.book import price_book
from coldpress.cost.plan.options import Options
from coldpress.cost.plan.planner import make_plan
from coldpress.cost.plan.profile import from_figures
from coldpress.cost.plan.survey import from_pattern
from coldpress.cost.simulate import Servers
from coldpress.cost.simulate.patterns import DAY, Pattern
from coldpress.machine import cpu_name

RESULT = Path(__file__).parent / "results" / "simulator.json"
SIX = ("on-demand", "provisioned", "scheduled", "tracked", "snapstart", "sagemaker")
MEAN_MS = 100.0
SEEDS = 5
EXPONENTIAL = [-math.log((number + 0.5) / 65_536) * MEAN_MS for number in range(65_536)]


def main() -> None:
    result = {"cpu": cpu_name(), "month": a_month(), "theory": theory(), "emulator": emulator()}
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    sys.stdout.write(json.dumps(result, indent=1) + "\n")


def a_month() -> dict[str, Any]:
    """Twenty requests a second for thirty days, six strategies, on one core."""
    profile = from_figures("f", "x86_64", 1769, 5, 15)
    began, used = time.monotonic(), time.process_time()
    plan = make_plan(profile, from_pattern(Pattern("diurnal", 20, 30 * DAY)), Options(only=SIX), price_book())
    took, used = time.monotonic() - began, time.process_time() - used
    simulated = plan.survey.requests * len(plan.rows)
    return {
        "requests": plan.survey.requests,
        "strategies": len(plan.rows),
        "seconds": round(took, 1),
        "simulated_a_second_on_one_core": round(simulated / used),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


def theory() -> list[dict[str, Any]]:
    """M/M/c: who waits, and how long; M/M/c/c: who is turned away. Means of several runs of ten million."""
    rows = []
    for slots, load in ((1, 0.5), (1, 0.9), (2, 1.6), (4, 3.2), (10, 9.0), (50, 45.0)):
        blocked = 1.0
        for number in range(1, slots + 1):
            blocked = load * blocked / (number + load * blocked)
        waits = blocked / (1 - load / slots * (1 - blocked))
        errors: dict[str, list[float]] = {"waits_error": [], "wait_error": [], "loss_error": []}
        for seed in range(SEEDS):
            queue, loss = (
                Servers(EXPONENTIAL, slots, seed=seed),
                Servers(EXPONENTIAL, slots, queue=False, seed=seed),
            )
            seconds = 10_000_000 * MEAN_MS / load / 1000
            for chunk in Pattern("steady", load / MEAN_MS * 1000, seconds).chunks(seed):
                queue.run(chunk)
                loss.run(chunk)
            waited, lost = queue.totals(), loss.totals()
            errors["waits_error"].append(waited.waited / waited.requests / waits - 1)
            errors["wait_error"].append(waited.wait_ms / waited.requests / (waits * MEAN_MS / (slots - load)) - 1)
            errors["loss_error"].append(lost.lost / lost.requests / blocked - 1)
        rows.append(
            {"slots": slots, "load": load} | {name: round(mean(found), 4) for name, found in errors.items()}
        )
    return rows


def emulator() -> dict[str, Any]:
    """The same trace, simulated and played to the local Lambda."""
    sys.path += [str(Path(__file__).parent.parent / "tests" / name) for name in ("journeys", "emulate")]
    from test_planned import bursts, played, simulated, sleeper

    with tempfile.TemporaryDirectory() as folder:
        trace = bursts(Path(folder) / "trace.csv", 30, seed=2)
        records, real = played(sleeper(Path(folder)), trace)
        row = simulated(trace, records)
    dollars = row.dollars * row.outcome.seconds / (730 * 3600)
    return {
        "requests": real.requests,
        "cold_starts": real.cold_starts,
        "cold_starts_simulated": row.outcome.cold,
        "bill_error": round(dollars / real.cost_usd - 1, 4),
    }


if __name__ == "__main__":
    main()
