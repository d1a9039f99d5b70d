"""Where a cold start's time goes: the runtime's marks, between the process's start and the answer's arrival."""

import json
from itertools import pairwise
from pathlib import Path
from statistics import median

from coldpress.bench.lab import Lab, Shot, labs
from coldpress.bench.result import Phase

#: what each phase is, in the words of the runtime's trace; `ready` and `response` are seen from outside
PHASES = {
    "interpreter": "Python itself",
    "imports": "the runtime's modules",
    "task": "task.json",
    "library": "the engine's library",
    "tokenizer": "the tokenizer",
    "session": "the model, opened",
    "ready": "the task's code, then it asks for work",
    "request": "the first request arrives",
    "answer": "first inference, answer written",
    "response": "the answer's way out",
}
_LINE = '{"coldpress_init"'


def traced_starts(
    folder: Path, memory_mb: int, event: bytes, runs: int, env: dict[str, str], held: bool
) -> list[Phase]:
    """Medians over fresh sandboxes."""
    traced = {**env, "COLDPRESS_TRACE_INIT": "1"}
    with labs(folder, [memory_mb], env=traced, must_hold=held) as (lab,):
        return median_phases([phases for phases in (_start(lab, event) for _ in range(runs)) if phases])


def _start(lab: Lab, event: bytes) -> list[tuple[str, float]]:
    shot = lab.ask(event)
    marks = read_marks(lab.log())
    lab.renew()
    return phases_of(shot, marks) if marks else []


def read_marks(log: str) -> list[tuple[str, float]]:
    """Names and seconds of the last start in a log; none where it was not traced."""
    lines = [line for line in log.splitlines() if line.startswith(_LINE)]
    if not lines:
        return []
    return [(str(name), at / 1e9) for name, at in json.loads(lines[-1])["coldpress_init"]]


def phases_of(shot: Shot, marks: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Each phase's name and milliseconds; marks are put between what the sandbox's outside saw."""
    assert shot.init_ms is not None
    ready = shot.born + shot.init_ms / 1000
    before = [(name, at) for name, at in marks if at <= ready]
    after = [(name, at) for name, at in marks if at > ready]
    ends = [("", shot.born), *before, ("ready", ready), *after, ("response", shot.done)]
    return [(name, max(0.0, at - since) * 1000) for (_, since), (name, at) in pairwise(ends)]


def median_phases(runs: list[list[tuple[str, float]]]) -> list[Phase]:
    """One waterfall of several, of those that went through the same phases as the first."""
    if not runs:
        return []
    names = [name for name, _ in runs[0]]
    alike = [run for run in runs if [name for name, _ in run] == names]
    phases, start = [], 0.0
    for at, name in enumerate(names):
        took = median(run[at][1] for run in alike)
        phases.append(Phase(name, round(start, 3), round(took, 3)))
        start += took
    return phases
