"""Models that answer differently and load alike: the real MiniLM with other gains in its norms."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import coldpress
from coldpress.artifact import Artifact
from coldpress.optimize.press.file import _HEADER, _OP, NORM

#: of the fixture of that name
Share = Callable[[str, Callable[[Path], object]], Path]
#: where an op's tensors are named among its numbers
_TENSORS = 16


def variant(artifact: Artifact, seed: int, out: Path) -> Artifact:
    """A copy of a press artifact whose weights are others; what its manifest says of samples is put right."""
    shutil.copytree(artifact.path, out, ignore=shutil.ignore_patterns("*.zip"))
    made = Artifact.open(out)
    path = made.model_folder(made.name) / "model.press"
    data = bytearray(path.read_bytes())
    header = _HEADER.unpack_from(data)
    random = np.random.default_rng(seed)
    for at in range(header[10]):
        op = _OP.unpack_from(data, header[4] + at * _OP.size)
        if op[0] == NORM:
            gains = np.frombuffer(data, np.float32, op[5] or op[6], op[_TENSORS])
            gains *= random.uniform(0.5, 1.5, gains.shape).astype(np.float32)
    path.write_bytes(data)
    ask = made.function()
    for sample in made.manifest["models"][made.name]["samples"]:
        answer = json.dumps(ask(sample["request"]))
        sample["answer"] = json.loads(answer, parse_float=lambda digits: round(float(digits), 3))
    (out / "coldpress.json").write_text(json.dumps(made.manifest), encoding="utf-8")
    return Artifact.open(out)


@pytest.fixture(scope="session")
def three(artifact: Artifact, graph_artifact: Artifact, share: Share) -> Artifact:
    """One function of three models: the real one, one of other weights, and the real one on another engine."""

    def fill(folder: Path) -> None:
        folder.mkdir()
        models = {"plain": artifact, "other": variant(artifact, 1, folder / "other"), "graph": graph_artifact}
        coldpress.build(models=models, out=folder / "three", name="three")

    return Artifact.open(share("many", fill) / "three")


@pytest.fixture(scope="session")
def other(three: Artifact) -> Artifact:
    """The one of other weights, by itself."""
    return Artifact.open(three.path.parent / "other")
