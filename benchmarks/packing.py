"""Packing a model of gigabytes into an image: how fast beside gzip and pigz, and in how much memory.

The weights are generated, normal and in fp32, so they shrink as real ones do. All pack the same bytes in turns.

    python benchmarks/packing.py [--gigabytes 3] [--rounds 3]
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from coldpress.machine import cpu_name

RESULT = Path(__file__).parent / "results" / "packing.json"
BLOCK = 50_000_000
OURS = """
import resource, sys
from pathlib import Path
from coldpress.package.oci.base import open_base
from coldpress.package.oci.image import make_image
function, image = map(Path, sys.argv[1:])
made = make_image(function, "big", open_base("scratch", "x86_64", print), image, print)
print(made.layers[-1].size, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def generate(path: Path, size: int) -> None:
    path.parent.mkdir(parents=True)
    generator = np.random.default_rng(0)
    with path.open("wb") as file:
        while file.tell() < size:
            count = min(BLOCK, size - file.tell()) // 4
            file.write((generator.standard_normal(count, dtype=np.float32) * np.float32(0.02)).tobytes())


def ours(function: Path, work: Path) -> tuple[float, int, float]:
    """Seconds, bytes, and megabytes of memory at most. A shell in between, since a peak is inherited."""
    image = work / "image"
    began = perf_counter()
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" -c "$CODE" "$@" | tail -n 1', sys.executable, function, image],
        env=os.environ | {"CODE": OURS},
        capture_output=True,
        text=True,
        check=True,
    )
    took = perf_counter() - began
    size, peak = map(int, done.stdout.split())
    shutil.rmtree(image)
    return took, size, peak / 1024


def theirs(program: str, model: Path) -> float:
    began = perf_counter()
    with model.open("rb") as file:
        subprocess.run([program, "-1", "-c"], stdin=file, stdout=subprocess.DEVNULL, check=True)
    return perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    wishes = parser.parse_args()
    size = int(wishes.gigabytes * 1e9) // 4 * 4
    with tempfile.TemporaryDirectory(prefix="coldpress-packing-") as folder:
        work = Path(folder)
        model = work / "function/models/big/model.ort"
        generate(model, size)
        programs = [program for program in ("gzip", "pigz") if shutil.which(program)]
        took: dict[str, list[float]] = {name: [] for name in ("coldpress", *programs)}
        for _ in range(wishes.rounds):
            seconds, packed, peak = ours(work / "function", work)
            took["coldpress"].append(seconds)
            for program in programs:
                took[program].append(theirs(program, model))
    speed = {name: round(size / 1e6 / median(seconds), 1) for name, seconds in took.items()}
    result: dict[str, Any] = {
        "machine": {"cpu": cpu_name(), "cores": os.cpu_count()},
        "rounds": wishes.rounds,
        "gigabytes": wishes.gigabytes,
        "megabytes a second": speed,
        "coldpress / others": {name: round(speed["coldpress"] / speed[name], 2) for name in programs},
        "peak memory, MB": round(peak),
        "compressed to": round(packed / size, 3),
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
