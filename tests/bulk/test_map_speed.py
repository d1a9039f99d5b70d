"""A hundred thousand lines: as fast as the engine allows, and the same bytes however often it is interrupted."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import pytest
from bulk_lines import digest, texts, write_lines

from coldpress.artifact import Artifact
from coldpress.bulk.local import map_local

LINES = 100_000
ROUNDS, ROUND_LINES = 5, 24_000
CPUS = 2


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Path]:
    """Half a gigabyte of answers is not kept."""
    yield tmp_path
    shutil.rmtree(tmp_path)


def commands(room: Path, artifact: Artifact, to: str, *more: str) -> list[str]:
    coldpress = str(Path(sys.executable).parent / "coldpress")
    return [coldpress, "map", f"{room}/in/*.jsonl", "--to", str(room / to), "--local", str(artifact.path), *more]


def interrupted(command: list[str], ledger: Path, after: int, number: signal.Signals) -> tuple[int, str]:
    """Ended by a signal once so many stretches are answered; how it ended, and what it said."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        while not ledger.exists() or ledger.read_bytes().count(b"\n") < after:
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.05)
        process.send_signal(number)
        said = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    return process.returncode, said


@pytest.mark.slow
def test_interrupted_and_resumed_it_gives_the_same_bytes(artifact: Artifact, room: Path) -> None:
    write_lines(room / "in" / "one.jsonl", texts(LINES * 7 // 10, seed=1))
    write_lines(room / "in" / "two.jsonl", texts(LINES * 3 // 10, seed=2))
    whole = map_local(f"{room}/in/*.jsonl", room / "whole", artifact.path)
    assert whole.whole and (whole.lines, whole.failed_lines) == (LINES, 0)
    expected = digest(room / "whole")
    shutil.rmtree(room / "whole")
    ledger = room / "out" / ".coldpress" / "done.jsonl"
    code, said = interrupted(commands(room, artifact, "out"), ledger, whole.chunks // 4, signal.SIGINT)
    assert code == 130 and "--resume" in said
    first = ledger.read_bytes().count(b"\n")
    resumed = commands(room, artifact, "out", "--resume")
    assert interrupted(resumed, ledger, whole.chunks // 2, signal.SIGKILL)[0] == -signal.SIGKILL
    second = ledger.read_bytes().count(b"\n")
    assert 0 < first < second < whole.chunks
    done = subprocess.run(resumed, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(room / "out" / name) for name in ("one.jsonl", "two.jsonl")]
    assert f"{LINES:,} lines answered, 0 of them with an error" in done.stderr
    assert digest(room / "out") == expected
    assert not (room / "out" / ".coldpress" / "parts").exists()


class Alone:
    """The engine in a process for each CPU, which share the texts."""

    def __init__(self, artifact: Artifact, file: Path, stack: ExitStack) -> None:
        script = Path(__file__).with_name("engine_alone.py")
        command = [sys.executable, str(script), str(artifact.function_folder), str(file)]
        environment = {**os.environ, "COLDPRESS_THREADS": "1"}
        self._processes = [
            stack.enter_context(
                subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
                )
            )
            for _ in range(CPUS)
        ]
        for process in self._processes:
            assert process.stdin and process.stdout
            stack.callback(process.stdin.close)
            assert process.stdout.readline() == "ready\n"

    def seconds(self, first: int, end: int) -> float:
        """All of them at once, until the last one is done."""
        share = (end - first) // CPUS
        for number, process in enumerate(self._processes):
            assert process.stdin
            process.stdin.write(f"{first + number * share} {first + (number + 1) * share}\n")
            process.stdin.flush()
        took = []
        for process in self._processes:
            assert process.stdout
            took.append(float(process.stdout.readline()))
        return max(took)


@pytest.mark.slow
@pytest.mark.skipif((os.cpu_count() or 1) < CPUS, reason="the bar is for two CPUs")
def test_it_is_nearly_as_fast_as_the_engine(artifact: Artifact, room: Path) -> None:
    """In turns, so that both have the same machine: the whole command's work against the engine's alone."""
    many = texts(ROUNDS * ROUND_LINES)
    everything = write_lines(room / "all.jsonl", many)
    with ExitStack() as stack:
        alone = Alone(artifact, everything, stack)
        alone.seconds(0, 2000)
        before = alone.seconds(0, ROUND_LINES)
        shares = []
        for number in range(ROUNDS):
            first, end = number * ROUND_LINES, (number + 1) * ROUND_LINES
            write_lines(room / "in" / "texts.jsonl", many[first:end])
            result = map_local(f"{room}/in/*.jsonl", room / "out", artifact.path, concurrency=CPUS)
            assert result.whole and (result.lines, result.failed_lines) == (ROUND_LINES, 0)
            shutil.rmtree(room / "out")
            after = alone.seconds(first, end)
            shares.append((before + after) / 2 / result.seconds)
            before = after
    sys.stdout.write(f"shares {[round(share, 3) for share in shares]}\n")
    assert median(shares) >= 0.8, shares
