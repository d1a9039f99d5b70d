"""The press engine without Lambda: texts from a file, tokenised and run in the batches that the function makes.

It loads, says `ready`, and for each line with numbers FROM TO that it is told, runs those texts and says how long
that took. Started by the test as a process of its own, once for each CPU.
"""

import json
import sys
from pathlib import Path
from time import perf_counter

from coldpress_runtime.function import Function

_LINES = 2048


def main(root: str, file: str) -> None:
    task = Function(root).task()
    reader = task._reader  # type: ignore[attr-defined]  # the engine's own side of the task
    texts = [json.loads(line)["text"] for line in Path(file).read_text(encoding="utf-8").splitlines()]
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for told in sys.stdin:
        first, end = map(int, told.split())
        began = perf_counter()
        for begin in range(first, end, _LINES):
            ids = reader.singles(texts[begin : min(begin + _LINES, end)], "text")
            for _ in reader.rows(ids):
                pass
        sys.stdout.write(f"{perf_counter() - began}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
