"""Timing candidates against each other: in real sandboxes, taking turns, so that a noisy minute hits all alike."""

import json
import os
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median

from coldpress.cache import cached, digest
from coldpress.choose.trial import Timing, Trial
from coldpress.emulate.sandbox import Invoked, Sandbox
from coldpress.errors import FunctionError
from coldpress.machine import cpu_name
from coldpress.progress import Say
from coldpress.tasks import Request

COLD_STARTS = 3
MOST_ROUNDS = 9
FEWEST_ROUNDS = 3
#: after so long a round is the last, for one number of threads
SECONDS = 6.0
_FILE = "timings.json"


def time_all(trials: Sequence[Trial], requests: dict[str, Request], say: Say) -> list[Trial]:
    """Each of `trials` with its timing, from this run or from one before on the same CPU."""
    key = [
        [trial.candidate.digest() for trial in trials if trial.candidate],
        digest(requests),
        cpu_name(),
        os.cpu_count(),
    ]

    def make(folder: Path) -> None:
        measured = _measure(trials, {name: json.dumps(body).encode() for name, body in requests.items()}, say)
        (folder / _FILE).write_text(json.dumps([asdict(timing) for timing in measured]), encoding="utf-8")

    kept = json.loads((cached("timing", key, make) / _FILE).read_text(encoding="utf-8"))
    return [replace(trial, timing=Timing(**timing)) for trial, timing in zip(trials, kept, strict=True)]


def _measure(trials: Sequence[Trial], events: dict[str, bytes], say: Say) -> list[Timing]:
    cores = sorted(os.sched_getaffinity(0))
    functions = [trial.function for trial in trials if trial.function is not None]
    say("cold starts")
    first = next(iter(events.values()))
    cold: list[list[float]] = [[] for _ in functions]
    for _ in range(COLD_STARTS):
        for at, function in enumerate(functions):
            with Sandbox(function, cpus={cores[-1]}) as sandbox:
                cold[at].append((_answered(sandbox, first).done - sandbox.started) * 1000)
    say("warm requests, one thread")
    one, peaks = _warm(functions, events, {cores[-1]})
    two: list[dict[str, float]] = [{} for _ in functions]
    if len(cores) > 1:
        say("warm requests, two threads")
        two, _ = _warm(functions, events, set(cores[-2:]))
    return [Timing(median(cold[at]), peaks[at], one[at], two[at]) for at in range(len(functions))]


def _warm(
    functions: Sequence[Path], events: dict[str, bytes], cores: set[int]
) -> tuple[list[dict[str, float]], list[float]]:
    times: list[dict[str, list[float]]] = [defaultdict(list) for _ in functions]
    with ExitStack() as stack:
        threads = {"COLDPRESS_THREADS": str(len(cores))}
        sandboxes = [stack.enter_context(Sandbox(function, cpus=cores, env=threads)) for function in functions]
        began = time.monotonic()
        for turn in range(MOST_ROUNDS):
            if turn >= FEWEST_ROUNDS and time.monotonic() - began > SECONDS:
                break
            for at, sandbox in enumerate(sandboxes):
                for name, event in events.items():
                    _answered(sandbox, event)  # a model alone in the cache, as on Lambda
                    times[at][name].append(_answered(sandbox, event).duration_ms)
        peaks = [sandbox.memory_mb("VmHWM") for sandbox in sandboxes]
    return [{name: median(took) for name, took in row.items()} for row in times], peaks


def _answered(sandbox: Sandbox, event: bytes) -> Invoked:
    invoked = sandbox.invoke(event)
    if not invoked.ok or invoked.body.startswith(b'{"error"'):
        raise FunctionError(f"the function failed while it was measured: {invoked.body.decode()[:500]}")
    return invoked
