"""coldpress.json, the same on every machine, and measured.json, which is not."""

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coldpress.artifact import FORMAT, IMAGE, LAYER_ZIP, MANIFEST, MEASURED, SBOM, ZIP, file_hashes, folder_bytes
from coldpress.emulate.sandbox import Sandbox
from coldpress.intake.source import Folder, Source
from coldpress.machine import cpu_name
from coldpress.package.function import FunctionTree
from coldpress.package.sbom import write_sbom
from coldpress.tasks import Request
from coldpress.version import __version__

if TYPE_CHECKING:
    from coldpress.build import Pressed

SAMPLES = 3
_LONGEST_SAMPLE = 2000
#: of a model card
_CARD = re.compile(r"^license:\s*['\"]?([A-Za-z0-9.+-]+)", re.MULTILINE)
#: as model cards write them, and as everybody else does
_SPDX = {"apache-2.0": "Apache-2.0", "mit": "MIT", "bsd-3-clause": "BSD-3-Clause", "cc-by-4.0": "CC-BY-4.0"}
_DIGITS = 3  # engines differ in the last bits between CPUs, and a manifest must not


def write_manifest(
    staging: Path,
    name: str,
    tree: FunctionTree,
    models: "dict[str, Pressed]",
    custom: dict[str, Any] | None = None,
) -> None:
    """Close the artifact: what was made, from what, how, and what every file hashes to."""
    close_artifact(
        staging,
        tree,
        {
            "name": name,
            "engine": next((made.choice.candidate.engine for made in models.values()), None),
            "models": {key: _described(made) for key, made in models.items()},
            **({} if custom is None else {"custom": custom}),
        },
        sum(made.task.source.weights_bytes for made in models.values()),
        {name: _licence(made.task.source) for name, made in models.items()},
        [trial.json() for made in models.values() for trial in made.choice.trials],
    )


def close_artifact(
    staging: Path,
    tree: FunctionTree,
    said: dict[str, Any],
    source_weights: int,
    licences: dict[str, str | None],
    candidates: list[dict[str, Any]],
) -> None:
    """Write coldpress.json, with what is `said` of the function, its bill of materials, and measured.json."""
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "coldpress": __version__,
        "name": said["name"],
        "engine": said["engine"],
        "arch": tree.arch,
        "python": tree.python,
        "bytecode": tree.pythons,
        "versions": tree.versions,
        **{key: value for key, value in said.items() if key not in ("name", "engine")},
        "sizes": {
            "source_weights": source_weights,
            "function": folder_bytes(tree.root),
            "zip": _size(staging / ZIP),
            **({"layer": _size(staging / LAYER_ZIP)} if (staging / LAYER_ZIP).exists() else {}),
        },
        **({"image": _image(staging / IMAGE)} if (staging / IMAGE).exists() else {}),
        "files": file_hashes(staging),
    }
    _write(staging / MANIFEST, manifest)
    write_sbom(staging / SBOM, manifest, licences)
    _write(
        staging / MEASURED,
        {"format": FORMAT, "cpu": cpu_name(), "cores": os.cpu_count(), "candidates": candidates},
    )


def _licence(source: Source) -> str | None:
    """What a model's card says in its head."""
    card = source.folder / "README.md" if isinstance(source, Folder) else None
    if card is None or not card.is_file():
        return None
    head = card.read_text(encoding="utf-8", errors="replace").removeprefix("---").partition("\n---")[0]
    said = _CARD.search(head)
    return _SPDX.get(said[1].lower(), said[1]) if said else None


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.exists() else None


def _image(layout: Path) -> dict[str, Any]:
    from coldpress.package.oci.image import open_image

    image = open_image(layout)
    base = image.origin
    return {
        "digest": image.digest,
        "bytes": sum(layer.size for layer in image.layers),
        "unpacked": image.unpacked,
        "base": None if base is None else str(base),
    }


def _described(made: "Pressed") -> dict[str, Any]:
    source, choice, drift = made.task.source, made.choice, made.choice.verdict.drift
    return {
        "task": source.task,
        "origin": source.origin,
        "kind": source.kind,
        "architecture": source.architecture,
        "source_files": source.files,
        "code_that_ran": source.ran,
        "recipe": choice.candidate.recipe.json(),
        "tokenizer": choice.candidate.tokenizer or "compiled",
        **made.task.describe(),
        "drift": {
            "total": round(drift.total, _DIGITS),
            "limit": choice.verdict.limit,
            "cosine_mean": round(drift.cosine_mean, _DIGITS),
            "samples": drift.samples,
        },
        "samples": _samples(choice.function, made.questions.requests),
    }


def _samples(function: Path, requests: list[Request]) -> list[dict[str, Any]]:
    """A few requests with the answers expected of them, for whoever deploys the function."""
    short = [request for request in requests if len(json.dumps(request)) <= _LONGEST_SAMPLE][:SAMPLES]
    with Sandbox(function) as sandbox:
        answers = [sandbox.invoke(json.dumps(request).encode()).body for request in short]
    return [sample(request, answer) for request, answer in zip(short, answers, strict=True)]


def sample(request: Request, answer: bytes) -> dict[str, Any]:
    return {
        "request": request,
        "answer": json.loads(answer, parse_float=lambda digits: round(float(digits), _DIGITS)),
    }


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
