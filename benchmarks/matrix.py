"""Every architecture, pressed and compared with torch through the real bootstrap. Writes docs/models.md.

python benchmarks/matrix.py [NAME …]      some of them, to look at; only a run of all writes the table
"""

import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import coldpress
from coldpress.errors import ColdpressError
from matrix_models import ENTRIES

ROOT = Path(__file__).parent.parent
RESULT = ROOT / "benchmarks" / "results" / "matrix.json"
PAGE = ROOT / "docs" / "models.md"
ONE = "--one"
#: tried one after the other until one passes; fp32 always
LIMITS = {"fp32": 0.001, "int8": 0.15, "fp16": 0.01}
INTRODUCTION = """# Models

One small model of every architecture below, with weights as its config makes them up, was pressed and asked
through the function's own `bootstrap`; its answers were compared with PyTorch's. Drift is the distance from the
original's answers in units of their spread (0: identical; int8 may have 0.15, fp16 0.01, fp32 0.001). Random
weights are harder on int8 than trained ones: answers hardly differ from each other, so every rounding counts.
This page is written by `benchmarks/matrix.py`.
"""


def press(name: str) -> dict[str, Any]:
    """All that is known of one architecture."""
    entry = next(one for one in ENTRIES if one.name == name)
    row: dict[str, Any] = {"kind": entry.kind}
    with tempfile.TemporaryDirectory() as work:
        start = time.monotonic()
        try:
            model, options = entry.make(Path(work) / "model")
        except Exception as error:  # noqa: BLE001 - a row says what it is
            return row | {"fp32": {"failed": f"{type(error).__name__}: {error}"}}
        for precision in LIMITS:
            if precision == "fp16" and "drift" in row["int8"]:
                continue
            row[precision] = _attempt(model, options, precision, Path(work) / precision)
        row["seconds"] = round(time.monotonic() - start, 1)
    return row


def _attempt(model: Any, options: dict[str, Any], precision: str, out: Path) -> dict[str, Any]:
    try:
        artifact = coldpress.build(model, out=out, precision=precision, quick=True, package="none", **options)
    except ColdpressError as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    (made,) = artifact.manifest["models"].values()
    recipe = made["recipe"]
    return {
        "drift": made["drift"]["total"],
        "task": made["task"],
        "engine": recipe["engine"],
        "kept": len(recipe["keep"]),
        "megabytes": round(artifact.manifest["sizes"]["function"] / 1e6, 1),
    }


def page(result: dict[str, Any]) -> str:
    rows = result["models"]
    passed = {
        precision: [name for name, row in rows.items() if "drift" in row.get(precision, {})]
        for precision in LIMITS
    }
    lines = [
        INTRODUCTION,
        f"Of {len(rows)}, {len(passed['fp32'])} pass in fp32 and {len(passed['int8'])} in int8; "
        f"only in fp16: {', '.join(passed['fp16']) or 'none'}.",
        "",
        "| architecture | reads | task | fp32 drift | int8 drift | int8 runs on |",
        "|---|---|---|---:|---:|---|",
    ]
    reasons = []
    for name, row in rows.items():
        fp32, int8 = row["fp32"], row.get("int8", {})
        engine = int8.get("engine", row.get("fp16", {}).get("engine", "")) or "—"
        kept = f", {int8['kept']} layers in floats" if int8.get("kept") else ""
        half = "" if "drift" in int8 else ", fp16" if "drift" in row.get("fp16", {}) else ""
        task = fp32.get("task", "—")
        lines.append(
            f"| {name} | {row['kind']} | {task} | {_shown(fp32)} | {_shown(int8)} | {engine}{kept}{half} |"
        )
        for precision in ("fp32", "int8"):
            if "failed" in row.get(precision, {}):
                reasons.append(f"- {name}, {precision}: {row[precision]['failed']}")
    if reasons:
        lines += ["", "## What does not pass, and why", "", *reasons]
    return "\n".join(lines) + "\n"


def _shown(attempt: dict[str, Any]) -> str:
    return f"{attempt['drift']:.3f}" if "drift" in attempt else "no"


def apart(name: str) -> dict[str, Any]:
    """The same in a process of its own: exporters leave state behind, and one that dies is a row too."""
    command = [sys.executable, __file__, ONE, name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        kind = next(entry.kind for entry in ENTRIES if entry.name == name)
        return {
            "kind": kind,
            "fp32": {"failed": f"ended with {done.returncode}: {done.stderr[-300:]}"},
        }
    row: dict[str, Any] = json.loads(lines[-1])
    return row


def main() -> None:
    if sys.argv[1:2] == [ONE]:
        sys.stdout.write(f"\n{json.dumps(press(sys.argv[2]))}\n")
        return
    names = sys.argv[1:] or [entry.name for entry in ENTRIES]
    rows: dict[str, Any] = {}
    with ThreadPoolExecutor(2) as pool:
        for name, row in zip(names, pool.map(apart, names), strict=True):
            rows[name] = row
            sys.stdout.write(f"{name}: {json.dumps(row)}\n")
            sys.stdout.flush()
    if len(names) == len(ENTRIES):
        result = {"models": rows}
        RESULT.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
        PAGE.write_text(page(result))


if __name__ == "__main__":
    main()
