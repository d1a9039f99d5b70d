"""Cold start, from process start to first answer: the classic handler, the expert's, and ours.

One run, contestants alternating, medians. Everything is pinned to one core (1,769 MB buy one vCPU);
two cores, an empty page cache and the chunks touched are measured beside it.

    make bench        (or: python benchmarks/cold_start.py --rounds 9)
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from coldpress.bench import SHORT
from coldpress.cost import lambda_cost_per_million
from coldpress.emulate.sandbox import Sandbox, base_python, pinned
from coldpress.machine import cpu_name
from contestants import Contestant, cores_for, prepare, sizes
from page_cache import chunks, evict
from rie import PROGRAM, emulator

RESULT = Path(__file__).parent / "results" / "cold_start.json"
EVENT = json.dumps({"text": SHORT}).encode()
WARM = 30
MEMORY_MB = 1769
LEAST_COSINE = 0.97  # a fast wrong answer wins nothing

Times = dict[str, list[float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--work", type=Path, default=Path(".cache/cold_start"))
    parser.add_argument("--result", type=Path, default=RESULT)
    arguments = parser.parse_args()
    if not PROGRAM.exists():
        sys.exit(f"{PROGRAM} is missing: run this by `make bench`")
    contestants = prepare(arguments.work.resolve())
    check_answers(contestants)
    one, two = Times(), Times()
    for _ in track(range(arguments.rounds), "one core", console=Console(stderr=True)):
        one_round(contestants, one, 1)
    for _ in track(range(max(3, arguments.rounds // 2)), "two cores", console=Console(stderr=True)):
        one_round(contestants, two, 2)
    result = {
        "machine": {"cpu": cpu_name(), "cores": os.cpu_count(), "python": platform.python_version()},
        "rounds": arguments.rounds,
        "one_core": summary(one),
        "two_cores": summary(two),
        "ratios": ratios(one),
        "evicted": evicted(contestants[2], arguments.rounds),
        "waterfall_ms": waterfall(contestants[2], arguments.rounds),
        "warm": {contestant.key: warm(contestant) for contestant in contestants},
        "sizes_mb": {contestant.key: size_row(contestant) for contestant in contestants},
    }
    arguments.result.write_text(json.dumps(result, indent=1) + "\n")
    show(contestants, result)


def one_round(contestants: list[Contestant], times: Times, cores: int) -> None:
    """Every contestant once, and the interpreter alone beside them."""
    times.setdefault("python_pass", []).append(python_alone(cores))
    for contestant in contestants:
        with emulator(
            contestant.command, contestant.root, contestant.environment(cores), cores_for(cores)
        ) as running:
            _, took = running.invoke(EVENT)
        times.setdefault(f"rie_{contestant.key}", []).append(took)
    times.setdefault("bare_ours", []).append(bare(contestants[2], cores)[0])


def python_alone(cores: int) -> float:
    with pinned(cores_for(cores)):
        began = time.monotonic()
        subprocess.run([base_python(), "-I", "-S", "-c", "pass"], check=True)
        return (time.monotonic() - began) * 1000


def bare(contestant: Contestant, cores: int, trace: bool = False) -> tuple[float, list[tuple[str, float]]]:
    """One cold start against a bare Runtime API: milliseconds, and the phases when traced."""
    env = contestant.environment(cores) | ({"COLDPRESS_TRACE_INIT": "1"} if trace else {})
    with Sandbox(contestant.root, env=env, command=contestant.command, cpus=cores_for(cores)) as sandbox:
        answer = sandbox.invoke(EVENT)
        took = (answer.done - sandbox.started) * 1000
        sandbox.invoke(EVENT)  # by now the trace is written
        phases = read_trace(sandbox.log(), sandbox.started) if trace else []
    return took, phases


def read_trace(log: str, started: float) -> list[tuple[str, float]]:
    (line,) = [line for line in log.splitlines() if line.startswith('{"coldpress_init"')]
    phases, last = [], started * 1e9
    for name, at in json.loads(line)["coldpress_init"]:
        phases.append((str(name), (at - last) / 1e6))
        last = at
    return phases


def waterfall(ours: Contestant, rounds: int) -> dict[str, float]:
    phases: dict[str, list[float]] = defaultdict(list)
    for _ in range(rounds):
        for name, took in bare(ours, 1, trace=True)[1]:
            phases[name].append(took)
    return {name: round(median(times), 2) for name, times in phases.items()}


def evicted(ours: Contestant, rounds: int) -> dict[str, Any]:
    """Cold starts with none of the function's files in memory, and what each start brought back."""
    times, touched, total = [], [], 0
    for _ in range(rounds):
        evict(ours.root)
        times.append(bare(ours, 1)[0])
        now, total = chunks(ours.root)
        touched.append(now)
    return {
        "bare_ours_ms": round(median(times), 1),
        "chunks_512k_touched": median(touched),
        "chunks_512k_total": total,
        "note": "touched includes the kernel's own read-ahead",
    }


def warm(contestant: Contestant) -> dict[str, float]:
    """Warm requests on one core against a bare Runtime API, and the process's peak memory."""
    env = contestant.environment(1)
    with Sandbox(contestant.root, env=env, command=contestant.command, cpus=cores_for(1), timeout=120) as sandbox:
        answers = [sandbox.invoke(EVENT) for _ in range(WARM + 1)][1:]
    took = median(answer.duration_ms for answer in answers)
    return {
        "duration_ms": round(took, 2),
        "peak_mb": round(answers[-1].peak_mb, 1),
        "cost_per_million": round(lambda_cost_per_million(took, MEMORY_MB), 3),
    }


def check_answers(contestants: list[Contestant]) -> None:
    vectors = []
    for contestant in contestants:
        with emulator(contestant.command, contestant.root, contestant.environment(1), None) as running:
            vectors.append(np.array(json.loads(running.invoke(EVENT)[0])["embeddings"][0]))
    for contestant, vector in zip(contestants, vectors, strict=True):
        cosine = float(vector @ vectors[0] / np.linalg.norm(vector) / np.linalg.norm(vectors[0]))
        if cosine < LEAST_COSINE:
            sys.exit(f"{contestant.key} gives a wrong answer: its cosine to the classic one's is {cosine:.3f}")


def summary(times: Times) -> dict[str, dict[str, float]]:
    return {
        key: {
            "median_ms": round(median(took), 1),
            "min_ms": round(min(took), 1),
            "max_ms": round(max(took), 1),
        }
        for key, took in times.items()
    }


def ratios(times: Times) -> dict[str, float]:
    middle = {key: median(took) for key, took in times.items()}
    return {
        "bare_ours_over_python_pass": round(middle["bare_ours"] / middle["python_pass"], 2),
        "rie_classic_over_ours": round(middle["rie_classic"] / middle["rie_ours"], 1),
        "rie_expert_over_ours": round(middle["rie_expert"] / middle["rie_ours"], 2),
    }


def size_row(contestant: Contestant) -> dict[str, float]:
    zipped, unzipped = sizes(contestant)
    return {"zip": round(zipped, 1), "unzipped": round(unzipped, 1)}


def show(contestants: list[Contestant], result: dict[str, Any]) -> None:
    table = Table(title=f"Cold start on {result['machine']['cpu']}, medians", title_justify="left")
    for heading in ("", "1 core, RIE", "2 cores, RIE", "warm", "peak", "zip", "unzipped"):
        table.add_column(heading, justify="left" if not heading else "right")
    for contestant in contestants:
        key = contestant.key
        warm_row, size = result["warm"][key], result["sizes_mb"][key]
        table.add_row(
            contestant.what,
            f"{result['one_core'][f'rie_{key}']['median_ms']:,.0f} ms",
            f"{result['two_cores'][f'rie_{key}']['median_ms']:,.0f} ms",
            f"{warm_row['duration_ms']:.1f} ms",
            f"{warm_row['peak_mb']:,.0f} MB",
            f"{size['zip']:,.0f} MB",
            f"{size['unzipped']:,.0f} MB",
        )
    console = Console()
    console.print(table)
    console.print({key: result[key] for key in ("ratios", "evicted", "waterfall_ms")})


if __name__ == "__main__":
    main()
