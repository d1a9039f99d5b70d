"""Coverage-guided fuzzing of the loader and the tokenizer, with sanitizers on.

    make fuzz        (or: python native/fuzz/run.py --seconds 600 --target loader)

What was found to be worth keeping stays in the corpus, and the next run goes on from there. A crash stops the run
and leaves the bytes that did it.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from coldpress.progress import Shown

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))

import build as native  # noqa: E402 - lies one folder up
from fuzz import seeds  # noqa: E402

WORK = Path(".cache/fuzz")
LONGEST = {"loader": 1 << 18, "tokenizer": 512}  # bytes of an input
SANITIZED = ("-g", "-O1", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all")
COUNTED = ("-g", "-O1", "-fsanitize=fuzzer", "-fprofile-instr-generate", "-fcoverage-mapping")
# Hints for gcc's unroller, and flags that only the linker reads.
CLANG = ("-Wno-unknown-pragmas", "-Wno-unused-command-line-argument")
NEEDED = ("clang", "llvm-profdata", "llvm-cov", "llvm-symbolizer")

_STATE = re.compile(r"#(\d+)\s.*cov: (\d+) ft: (\d+)")


@dataclass(frozen=True)
class Result:
    target: str
    executions: int
    edges: int
    features: int
    #: the input that did harm, and what was said of it
    crash: Path | None
    log: str


#: the peak that a process reports is at first its parent's, so only single blocks are limited
LIMITS = ("-rss_limit_mb=0", "-malloc_limit_mb=2048")


def missing() -> list[str]:
    return [name for name in NEEDED if shutil.which(name) is None]


def fuzz(target: str, seconds: int, work: Path, say: Callable[[str], None] = lambda text: None) -> Result:
    """Build, make seeds, and fuzz `target` until the time is over or something breaks."""
    say("building")
    program = work / target
    _build(target, program, SANITIZED)
    if not (work / "seeds").exists():
        say("making seeds")
        seeds.make(work / "seeds")
    corpus = work / f"{target}-corpus"
    corpus.mkdir(exist_ok=True)
    command: list[str | Path] = [
        *(program, corpus, work / "seeds" / target, f"-max_total_time={seconds}"),
        *(f"-max_len={LONGEST[target]}", "-len_control=0", "-timeout=10", "-print_final_stats=1"),
        *LIMITS,
        f"-artifact_prefix={work}/{target}-",
    ]
    edges = features = executions = 0
    log: list[str] = []
    environment = os.environ | {"PRESS_MODELS": _models(work)}
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, errors="replace", env=environment
    ) as running:
        assert running.stderr is not None
        for line in running.stderr:
            log = [*log[-200:], line]
            if state := _STATE.match(line):
                executions, edges, features = map(int, state.groups())
                say(f"{executions:,} executions, cov {edges}, ft {features}")
            elif line.startswith("stat::number_of_executed_units:"):
                executions = int(line.split()[1])
    say(f"{executions:,} executions, cov {edges}, ft {features}")
    crash = re.search(r"Test unit written to (\S+)", "".join(log))
    if running.returncode and crash is None:
        raise RuntimeError(f"the fuzzer of the {target} did not run:\n{''.join(log)}")
    return Result(target, executions, edges, features, Path(crash[1]) if crash else None, "".join(log))


def lines_covered(target: str, work: Path) -> dict[str, tuple[int, int]]:
    """Lines of each source file that the corpus reaches, and how many there are; sanitizers' branches left out."""
    program, profile = work / f"{target}-counted", work / f"{target}.profraw"
    _build(target, program, COUNTED)
    environment = os.environ | {"PRESS_MODELS": _models(work), "LLVM_PROFILE_FILE": str(profile)}
    command: list[str | Path] = [program, "-runs=0", *LIMITS, work / f"{target}-corpus", work / "seeds" / target]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    merged = profile.with_suffix(".profdata")
    subprocess.run(["llvm-profdata", "merge", profile, "-o", merged], check=True)
    export: list[str | Path] = ["llvm-cov", "export", "-summary-only", program, f"-instr-profile={merged}"]
    report = json.loads(subprocess.run(export, check=True, capture_output=True).stdout)
    return {
        Path(file["filename"]).name: (file["summary"]["lines"]["covered"], file["summary"]["lines"]["count"])
        for file in report["data"][0]["files"]
        if "fuzz" not in Path(file["filename"]).parts
    }


def _models(work: Path) -> str:
    return ":".join(map(str, sorted((work / "seeds/models").glob("*.press"))))


def _build(target: str, program: Path, flags: tuple[str, ...]) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    native.build(native.host(), program, program=f"fuzz/{target}.c", extra=flags + CLANG, using="clang")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600, help="for each target")
    parser.add_argument("--target", choices=tuple(LONGEST), action="append")
    parser.add_argument("--work", type=Path, default=WORK)
    arguments = parser.parse_args()
    console = Console()
    if missing():
        sys.exit(f"not installed: {', '.join(missing())}; apt-get install clang libclang-rt-14-dev llvm")
    crashed = False
    for target in arguments.target or LONGEST:
        with Shown(console).stage(target) as say:
            result = fuzz(target, arguments.seconds, arguments.work, say)
        crashed |= result.crash is not None
        show(console, result, arguments.work)
    sys.exit(crashed)


def show(console: Console, result: Result, work: Path) -> None:
    if result.crash:
        console.print(result.log, f"crash: {result.crash}", markup=False, highlight=False)
        return
    table = Table("file", "lines reached", "of")
    for name, (reached, total) in sorted(lines_covered(result.target, work).items()):
        if reached:
            table.add_row(name, str(reached), str(total))
    console.print(table)


if __name__ == "__main__":
    main()
