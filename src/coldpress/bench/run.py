"""From an artifact to its figures: cold, warm, traced; then other sizes, and others' ways to serve it."""

import os
import platform
from collections.abc import Sequence
from datetime import date
from statistics import median
from typing import Any

from coldpress.artifact import Artifact
from coldpress.bench.imports import traced_imports
from coldpress.bench.inputs import Request, event_of, typical
from coldpress.bench.lab import cannot_hold, check_size, labs, not_held
from coldpress.bench.peers import compare_with, find_peers
from coldpress.bench.recommend import recommend
from coldpress.bench.result import Bench, Cold, Machine, Peer, Percentiles, Size
from coldpress.bench.sweep import check_sizes, sweep_sizes
from coldpress.bench.tally import Tally, cost_of_million
from coldpress.bench.waterfall import traced_starts
from coldpress.emulate.world.cgroups import MB_PER_VCPU
from coldpress.errors import TargetError, UsageError
from coldpress.machine import cpu_name
from coldpress.progress import Progress, Silent

_TRACED = 5
#: at most, of each peer: the classic one takes seconds for a cold start
_ROUNDS, _WARM_ROUNDS = 5, 30


def run_bench(
    folder: str | os.PathLike[str],
    *,
    memory_mb: int = MB_PER_VCPU,
    cold_runs: int = 20,
    warm_runs: int = 200,
    sweep: Sequence[int] | None = None,
    against: Sequence[str] = (),
    original: str | os.PathLike[str] | None = None,
    data: str | None = None,
    usual: str | None = None,
    progress: Progress | None = None,
) -> Bench:
    """Measure the artifact in `folder`, and leave the result in its bench.json.

    `sweep` are memory sizes, `against` names of peers, `original` the model that peers serve where the manifest's
    own name for it leads nowhere. `data` is a request of one's own, as JSON; `usual` the one that costs are of.
    """
    artifact, show = Artifact.open(folder), progress or Silent()
    requests = typical(artifact, data)
    usual = _usual(usual, requests)
    events = {name: event_of(request) for name, request in requests.items()}
    held = _check(artifact, memory_mb, cold_runs, warm_runs)
    sizes = check_sizes(artifact.path, sweep or ())
    peers = find_peers(artifact, against, original)
    env = {} if held else {"COLDPRESS_THREADS": "1"}
    arch, weights = str(artifact.manifest["arch"]), artifact.manifest["sizes"]

    with labs(artifact.path, [memory_mb], env=env, must_hold=held) as (lab,):
        tally = Tally(lab, events)
        with show.stage("cold") as say:
            tally.warm_up(usual)  # the first start of all reads files that later ones find in memory
            for number in range(cold_runs):
                say(f"{number + 1} of {cold_runs} fresh sandboxes, {memory_mb} MB")
                tally.start(usual)
            say(f"{cold_runs} fresh sandboxes, {memory_mb} MB: {median(tally.cold_ms):.1f} ms in the middle")
        with show.stage("warm") as say:
            for name in events:
                say(f"{warm_runs} requests, {name}")
                tally.warm_up(name)
                for _ in range(warm_runs):
                    tally.ask(name)
            warm = {name: tally.warm_of(name, _shown(request)) for name, request in requests.items()}
            say(f"{warm_runs} requests of each shape: {', '.join(warm)}")
    with show.stage("trace") as say:
        say("cold starts that tell where their time goes")
        phases = traced_starts(artifact.path, memory_mb, events[usual], min(_TRACED, cold_runs), env, held)
        imports = traced_imports(artifact, events[usual])
        say(f"{len(phases)} phases, {len(imports)} imports")
    swept: list[Size] = []
    if sizes:
        with show.stage("sweep") as say:
            runs = max(3, cold_runs // 2), max(5, warm_runs // 5)
            swept = sweep_sizes(artifact.path, arch, sizes, events, usual, runs, say)
    beside: list[Peer] = []
    if peers is not None:
        with show.stage("against") as say:
            rounds = min(_ROUNDS, cold_runs), min(_WARM_ROUNDS, warm_runs)
            beside = compare_with(artifact, peers, events, usual, rounds, say)

    billed, cold_billed = tally.billed_ms(usual), tally.cold_billed_ms
    made = Bench(
        name=artifact.name,
        arch=arch,
        coldpress=str(artifact.manifest["coldpress"]),
        measured=date.today().isoformat(),
        machine=Machine(cpu_name(), os.cpu_count() or 1, platform.python_version()),
        memory_mb=memory_mb,
        held=held,
        usual=usual,
        cold=Cold(tally.cold_ms, tally.init_ms, phases, imports, Percentiles.of(tally.cold_ms)),
        warm=warm,
        peak_mb=tally.peak_mb,
        zip_bytes=weights["zip"],
        function_bytes=weights["function"],
        billed_ms=billed,
        cold_billed_ms=cold_billed,
        cost_per_million=cost_of_million(billed, memory_mb, arch),
        cold_cost_per_million=cost_of_million(cold_billed, memory_mb, arch),
        sweep=swept,
        recommended=recommend(swept, usual),
        against=beside,
    )
    made.save(artifact.path)
    return made


def _usual(asked: str | None, requests: dict[str, Request]) -> str:
    if asked is not None and asked not in requests:
        raise UsageError(f"--usual is {asked!r}; this function is asked: {', '.join(map(repr, requests))}")
    return asked or next(iter(requests))


def _check(artifact: Artifact, memory_mb: int, cold_runs: int, warm_runs: int) -> bool:
    """Before anything is measured. Returns whether memory and the share of CPU can be held here."""
    if cold_runs < 1 or warm_runs < 1:
        raise UsageError(f"--cold {cold_runs} and --warm {warm_runs} must be 1 or more")
    check_size(memory_mb)
    if not os.access(artifact.path, os.W_OK):
        raise TargetError(f"{artifact.path} cannot be written to, and bench.json belongs there: copy the artifact")
    lost = not_held(artifact.path, memory_mb)
    if lost is not None and memory_mb != MB_PER_VCPU:
        raise cannot_hold(memory_mb, lost)
    return lost is None


def _shown(request: dict[str, Any]) -> str:
    """A request in few words: long texts are cut, lists counted."""
    parts = []
    for field, value in request.items():
        several = f"{len(value)} × " if isinstance(value, list) else ""
        one = value[0] if isinstance(value, list) and value else value
        text = str(one)
        parts.append(f"{field}: {several}{text if len(text) <= 40 else text[:39] + '…'}")
    return ", ".join(parts)
