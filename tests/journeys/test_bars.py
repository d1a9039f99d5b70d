"""The figures that are promised, measured on one artifact with one setting."""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

import coldpress
from coldpress.artifact import Artifact
from coldpress.emulate.sandbox import Sandbox

SHORT = b'{"text": "a short text of some sixteen tokens, as people type it into a search box"}'
FORBIDDEN = ("torch", "transformers", "numpy")


def test_size(artifact: Artifact) -> None:
    sizes = artifact.manifest["sizes"]
    assert sizes["zip"] <= 31e6
    assert sizes["function"] <= 60e6
    for path in artifact.function_folder.rglob("*"):
        assert not any(
            part.lower().startswith(FORBIDDEN) for part in path.relative_to(artifact.function_folder).parts
        )


def test_peak_memory(artifact: Artifact) -> None:
    with Sandbox(artifact.function_folder) as sandbox:
        peaks = [sandbox.invoke(SHORT).peak_mb for _ in range(50)]
    assert max(peaks) <= 80


@pytest.mark.slow
def test_cold_start_against_the_interpreter(artifact: Artifact) -> None:
    """At most 12.5 times a bare `python -I -S -c pass`, both pinned to one core, alternating."""
    from cold_start import bare, python_alone
    from contestants import Contestant

    root = artifact.function_folder
    ours = Contestant("ours", "", root, [str(root / "bootstrap")])
    pairs = [(bare(ours, 1)[0], python_alone(1)) for _ in range(11)]
    assert median(cold for cold, _ in pairs) <= 12.5 * median(alone for _, alone in pairs)


@pytest.mark.slow
@pytest.mark.parametrize(("precision", "limit"), [("fp32", 0.001), ("fp16", 0.01), ("int8", 0.15)])
def test_drift(precision: str, limit: float, artifact: Artifact, tmp_path: Path) -> None:
    pressed = (
        artifact
        if precision == "int8"
        else coldpress.build("demo:minilm", out=tmp_path / "out", precision=precision, package="none")
    )
    (candidate,) = json.loads((pressed.path / "measured.json").read_text())["candidates"]
    assert candidate["drift"]["samples"] >= 200
    assert candidate["drift"]["total"] <= limit


@pytest.mark.slow
def test_ten_thousand_requests_leave_no_trace(artifact: Artifact) -> None:
    """No growth beyond 2 MB after the first thousand, and no wrong answer."""
    events = [json.dumps({"text": f"request number {at} " + "and more " * (at % 9)}).encode() for at in range(40)]
    right: dict[bytes, bytes] = {}
    with Sandbox(artifact.function_folder) as sandbox:
        settled = 0
        for at in range(10_000):
            event = events[at % len(events)]
            answer = sandbox.invoke(event)
            assert answer.ok
            assert right.setdefault(event, answer.body) == answer.body
            if at == 999:
                settled = resident_kb(sandbox.pid)
        grown = resident_kb(sandbox.pid) - settled
    assert grown <= 2048


def resident_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


def memory_cgroup(limit: int) -> Path | None:
    """A new memory cgroup with that limit, v1 or v2; None where this machine allows none."""
    for root, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = Path(root) / f"coldpress-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / name).write_text(str(limit))
        except OSError:
            group.rmdir()
            continue
        return group
    return None


@pytest.mark.parametrize("texts", [1, 64])
def test_it_answers_inside_128_mb(texts: int, artifact: Artifact) -> None:
    group = memory_cgroup(128 * 1024 * 1024)
    if group is None:
        pytest.skip("no memory cgroup can be made here: it takes root, and a cgroup file system that is writable")
    event = json.dumps({"text": ["word " * 300] * texts}).encode()
    root = artifact.function_folder
    try:
        with Sandbox(
            root,
            memory_mb=128,
            command=[
                "/bin/sh",
                "-c",
                f'echo $$ > {group}/cgroup.procs; exec {root}/bootstrap "$1"',
                "sh",
                sys.executable,
            ],
        ) as sandbox:
            answer = sandbox.invoke(event)
            assert answer.ok
            assert str(sandbox.pid) in (group / "cgroup.procs").read_text().split()
        with Sandbox(root) as free:
            assert free.invoke(event).body == answer.body
    finally:
        subprocess.run(["rmdir", str(group)], check=True)
