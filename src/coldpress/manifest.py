"""coldpress.json, the same on every machine, and measured.json, which is not."""

import json
import platform
import shutil
from pathlib import Path
from typing import Any

from coldpress.artifact import FORMAT, MANIFEST, MEASURED, file_hashes, folder_bytes
from coldpress.intake.source import Source
from coldpress.optimize import Candidate
from coldpress.package.function import FunctionTree
from coldpress.package.libraries import host_architecture
from coldpress.verify import Verdict
from coldpress.version import __version__

SAMPLES = ("The quick brown fox jumps over the lazy dog.", "Où est la bibliothèque ?", "ok")
_DIGITS = 3  # engines differ in the last bits between CPUs, and a manifest must not


def write_manifest(
    staging: Path, source: Source, candidate: Candidate, tree: FunctionTree, verdict: Verdict
) -> None:
    """Close the artifact: what was made, from what, how, and what every file hashes to."""
    shutil.rmtree(staging / ".work")
    drift = verdict.drift
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "coldpress": __version__,
        "name": source.name,
        "engine": candidate.engine,
        "arch": host_architecture(),
        "python": "any",
        "bytecode": tree.pythons,
        "versions": tree.versions,
        "models": {
            source.name: {
                "task": source.task,
                "origin": source.origin,
                "kind": source.kind,
                "architecture": source.architecture,
                "source_files": source.files,
                "recipe": candidate.recipe,
                "inputs": {"text": "a text, or a list of texts"},
                "outputs": {"embeddings": {"dimensions": source.dimensions, "pooling": tree.task["pooling"]}},
                "drift": {
                    "total": round(drift.total, _DIGITS),
                    "limit": verdict.limit,
                    "cosine_mean": round(drift.cosine_mean, _DIGITS),
                    "samples": drift.samples,
                },
                "samples": _samples(tree.root),
            }
        },
        "sizes": {
            "source_weights": source.weights_bytes,
            "function": folder_bytes(tree.root),
            "zip": (staging / "function.zip").stat().st_size if (staging / "function.zip").exists() else None,
        },
        "files": file_hashes(staging),
    }
    _write(staging / MANIFEST, manifest)
    _write(
        staging / MEASURED,
        {
            "format": FORMAT,
            "cpu": cpu_name(),
            "candidates": [{"recipe": candidate.recipe, "drift": vars(drift), "worst_sample": verdict.worst_text}],
        },
    )


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine()
    )


def _samples(function: Path) -> list[dict[str, Any]]:
    """A few requests with the answers expected of them, for whoever deploys the function."""
    from coldpress_runtime.function import Function

    ask = Function(str(function))
    samples = []
    for text in SAMPLES:
        request = {"text": text}
        answer = json.loads(ask.handle(request), parse_float=lambda digits: round(float(digits), _DIGITS))
        samples.append({"request": request, "answer": answer})
    return samples


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
