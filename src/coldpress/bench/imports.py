"""Each Python module that a cold start imports, and how long it takes, from a start with `-X importtime`."""

import os
import re

from coldpress.artifact import Artifact
from coldpress.bench.result import Import
from coldpress.emulate.sandbox import Sandbox, interpreter_for

_STARTS = 3
#: how the bootstrap starts Python, and how it does so when it is traced
_PLAIN, _TRACED = " -I -S -B -c ", " -I -S -B -X importtime -c "
_LINE = re.compile(r"import time: +(\d+) \| +(\d+) \| ( *)(\S.*)")


def traced_imports(artifact: Artifact, event: bytes) -> list[Import]:
    """In the order in which they were done, before what imported them. Tracing itself makes each a little slower.

    None where the bootstrap is not the one that this coldpress writes.
    """
    root = artifact.function_folder.resolve()
    script = (root / "bootstrap").read_text(encoding="utf-8")
    if _PLAIN not in script:
        return []
    # The script itself, with its own path as $0: nothing is written, and nothing of it runs in a usual start.
    traced = script.replace(_PLAIN, _TRACED, 1)
    command = ["/bin/sh", "-c", traced, str(root / "bootstrap"), interpreter_for(artifact.python)]
    core = {max(os.sched_getaffinity(0))}
    runs = []
    for _ in range(_STARTS):
        with Sandbox(root, command=command, cpus=core, init_timeout=60) as sandbox:
            sandbox.invoke(event)
            runs.append(parse_imports(sandbox.log()))
    runs.sort(key=lambda found: sum(one.self_ms for one in found))
    return runs[len(runs) // 2]


def parse_imports(log: str) -> list[Import]:
    """The lines of -X importtime in a log that may hold others as well."""
    found = []
    for line in log.splitlines():
        said = _LINE.fullmatch(line)
        if said:
            alone, total, indent, name = said.groups()
            found.append(Import(name.rstrip(), int(alone) / 1000, int(total) / 1000, len(indent) // 2))
    return found
