"""Threads under a CPU quota: one and two, at the shares that memory sizes buy, and which of them the default is.

Lambda shows two CPUs to small functions too, and holds them to their share by a quota for every 20 ms. So a second
thread may finish a short request sooner, or spend the quota and wait. Here the same is done with a cgroup per
contestant. They take turns in changing order, and each has a fresh quota for every request, as a function has that
is not overrun.

    python benchmarks/quotas.py          (or: --rounds 41)
"""

import argparse
import json
import os
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from posix import environ
from statistics import geometric_mean, median, quantiles
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

import coldpress
from coldpress.emulate.sandbox import Sandbox, base_python
from coldpress.machine import cpu_name
from coldpress_runtime import settings
from coldpress_runtime.settings import MB_PER_VCPU

RESULT = Path(__file__).parent / "results" / "quotas.json"
CGROUPS = Path("/sys/fs/cgroup/cpu")
PERIOD_US = 20_000
VCPUS = (0.5, 1.0, 1.4, 2.0)
SHAPES = ((1, 16), (1, 128), (8, 64))
CONTESTANTS = {"one": "1", "two": "2"}
SLOWER = 1.05  # than the better number of threads, over all shapes: the default may not be

Row = dict[str, dict[str, float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--vcpus", type=float, nargs="*", default=VCPUS)
    parser.add_argument("--work", type=Path, default=Path(".cache/quotas"))
    parser.add_argument("--result", type=Path, default=RESULT)
    arguments = parser.parse_args()
    if not quotas_can_be_set():
        sys.exit(f"skipped: no cgroup with a CPU quota can be made in {CGROUPS}; it takes root and cgroup v1")
    function = coldpress.build(
        "demo:minilm", out=arguments.work.resolve(), quick=True, package="none"
    ).function_folder
    table = {f"{vcpus:g}": at_quota(function, vcpus, arguments.rounds) for vcpus in arguments.vcpus}
    result = {
        "machine": {"cpu": cpu_name(), "cores": os.cpu_count()},
        "rounds": arguments.rounds,
        "period_ms": PERIOD_US / 1000,
        "vcpus": table,
        "default": {vcpus: default(float(vcpus)) for vcpus in table},
        "default_over_best": {vcpus: over_best(shapes, float(vcpus)) for vcpus, shapes in table.items()},
    }
    arguments.result.write_text(json.dumps(result, indent=1) + "\n")
    show(result)
    worst = max(result["default_over_best"].values())
    if worst > SLOWER:
        sys.exit(
            f"the default takes {worst:.2f} times as long as the best number of threads; the limit is {SLOWER}"
        )


def at_quota(function: Path, vcpus: float, rounds: int) -> dict[str, Row]:
    """Milliseconds of each contestant at each shape: the median, and what nine of ten requests stay below."""
    times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    rng = random.Random(0)
    with ExitStack() as stack:
        sandboxes = {
            name: stack.enter_context(limited(function, name, vcpus, {"COLDPRESS_THREADS": threads}))
            for name, threads in CONTESTANTS.items()
        }
        for number in track(range(rounds + 1), f"{vcpus:g} vCPU", console=Console(stderr=True)):
            for texts, tokens in SHAPES:
                event = json.dumps({"text": [" ".join(["word"] * (tokens - 2))] * texts}).encode()
                names = [*sandboxes][number % len(sandboxes) :] + [*sandboxes][: number % len(sandboxes)]
                for name in names:
                    time.sleep(rng.uniform(2, 3) * PERIOD_US / 1e6)  # no beat with the periods
                    took = sandboxes[name].invoke(event).duration_ms
                    if number:  # the first warms up
                        times[f"({texts}, {tokens})"][name].append(took)
    return {
        shape: {
            name: {"median_ms": round(median(took), 2), "nine_of_ten_ms": round(quantiles(took, n=10)[-1], 2)}
            for name, took in row.items()
        }
        for shape, row in times.items()
    }


@contextmanager
def limited(function: Path, name: str, vcpus: float, env: dict[str, str]) -> Iterator[Sandbox]:
    """A sandbox that may use `vcpus`, in a cgroup of its own, told the memory size that buys them."""
    with quota(name, vcpus) as group:
        command = ["/bin/sh", "-c", f'echo $$ > {group}/cgroup.procs; exec {function}/bootstrap "$1"', "sh"]
        memory = round(vcpus * MB_PER_VCPU)
        with Sandbox(
            function, memory_mb=memory, env=env, command=[*command, base_python()], timeout=60
        ) as sandbox:
            yield sandbox


@contextmanager
def quota(name: str, vcpus: float) -> Iterator[Path]:
    group = CGROUPS / f"coldpress-{os.getpid()}-{name}"
    group.mkdir()
    try:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(round(PERIOD_US * vcpus)))
        yield group
    finally:
        group.rmdir()


def quotas_can_be_set() -> bool:
    try:
        with quota("probe", 1.0):
            return True
    except OSError:
        return False


def default(vcpus: float) -> str:
    """Which contestant the runtime would be, by its own rule."""
    environ[b"AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] = str(round(vcpus * MB_PER_VCPU)).encode()
    return list(CONTESTANTS)[settings.threads() - 1]


def over_best(shapes: dict[str, Row], vcpus: float) -> float:
    """The default's time over the better one's, as geometric means over the shapes."""
    means = {name: geometric_mean(row[name]["median_ms"] for row in shapes.values()) for name in CONTESTANTS}
    return round(means[default(vcpus)] / min(means.values()), 3)


def show(result: dict[str, Any]) -> None:
    table = Table("vCPU", "(texts, tokens)", *CONTESTANTS, "default", title="Median ms (nine of ten)")
    for vcpus, shapes in result["vcpus"].items():
        for shape, row in shapes.items():
            cells = [f"{row[name]['median_ms']:.2f} ({row[name]['nine_of_ten_ms']:.2f})" for name in CONTESTANTS]
            table.add_row(vcpus, shape, *cells, result["default"][vcpus])
    Console().print(table)
    Console().print("default over best, all shapes:", result["default_over_best"])


if __name__ == "__main__":
    main()
