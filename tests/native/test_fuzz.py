"""Half a minute of what `make fuzz` does at length, and what became of its findings."""

import json
from pathlib import Path

import build as native
import numpy as np
import pytest
from fuzz import run as fuzzing

from coldpress.optimize.press.file import ATTEND, COMPARE_BYTES, EMBED, LINEAR, POOL, POOLS, Op, PressFile, Tensor
from coldpress.optimize.press.quantize import panels
from coldpress_runtime.engines.press import Engine
from coldpress_runtime.faults import EngineError, LoadError

SECONDS = 20
MEAN = 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "reached"),
    [
        (
            "loader",
            ("model.c", "run.c", "kernels_body.h", "attention_body.h", "kernels_portable.c", "tokenizer.c"),
        ),
        ("tokenizer", ("tokenizer.c", "added.c", "wordpiece.c", "bpe.c", "unigram.c")),
    ],
)
def test_nothing_is_found(target: str, reached: tuple[str, ...], tmp_path: Path) -> None:
    if fuzzing.missing():
        pytest.skip(f"not installed: {', '.join(fuzzing.missing())}")
    result = fuzzing.fuzz(target, SECONDS, tmp_path)
    assert result.crash is None, result.log
    assert result.executions > 1000
    covered = fuzzing.lines_covered(target, tmp_path)
    for name in reached:
        lines, total = covered[name]
        assert lines >= 0.8 * total, f"{name}: {lines} of {total} lines are reached; seeds should reach most"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder = tmp_path_factory.mktemp("library")
    native.build(native.host(), folder / "libpress.so")
    return Engine((str(folder),))


def write(folder: Path, ops: list[Op], widths: list[int], max_tokens: int = 8) -> None:
    file = PressFile(max_tokens, vocabulary=1, dimensions=widths[-1], widths=widths, ops=ops)
    file.write(folder / "model.press")


def embed(width: int, scale: float = 1.0) -> Op:
    table = np.arange(width, dtype=np.int8).reshape(1, width)
    return Op(EMBED, target=0, outputs=width, tensors=[table, np.array([scale], np.float32)])


def pool(source: int, width: int) -> Op:
    return Op(POOL, activation=MEAN, source=source, target=source + 1, inputs=width)


def test_what_none_wrote_cannot_be_read(engine: Engine, tmp_path: Path) -> None:
    """It would be what another request left there."""
    write(tmp_path, [embed(16), pool(1, 16)], [16, 16, 16])
    with pytest.raises(LoadError, match="reads what none before it wrote"):
        engine.open(str(tmp_path), {"model": "model.press"}, 1)


def test_tokens_that_did_not_attend_cannot_be_read(engine: Engine, tmp_path: Path) -> None:
    attend = Op(ATTEND, source=0, target=1, outputs=16, heads=1, only=POOLS["cls"])
    first = Op(POOL, activation=POOLS["cls"], source=1, target=2, inputs=16)
    write(tmp_path, [embed(48), attend, first], [48, 16, 16])
    engine.open(str(tmp_path), {"model": "model.press"}, 1).close()
    write(tmp_path, [embed(48), attend, pool(1, 16)], [48, 16, 16])
    with pytest.raises(LoadError, match="tokens that did not attend"):
        engine.open(str(tmp_path), {"model": "model.press"}, 1)


@pytest.mark.parametrize("scale", [float("nan"), float("inf"), 3e38, 1e-40, 1.0])
def test_keys_that_are_no_numbers(scale: float, engine: Engine, tmp_path: Path) -> None:
    """Compared in bytes: refused as an answer, or right."""
    attend = Op(ATTEND, activation=COMPARE_BYTES, source=0, target=1, outputs=16, heads=1)
    write(tmp_path, [embed(48, scale), attend, pool(1, 16)], [48, 16, 16])
    output = engine.open(str(tmp_path), {"model": "model.press"}, 1).run([[0, 0, 0]])
    if scale <= 1:  # all tokens are one, so attending gives its values
        assert np.allclose(json.loads(output.json(0, 16)), scale * np.arange(32, 48), rtol=1e-6)
        return
    with pytest.raises(EngineError, match="finite"):
        output.json(0, 16)


def test_attention_that_no_memory_could_hold(engine: Engine, tmp_path: Path) -> None:
    """2³² scores would count as none."""
    wide = 1 << 16
    attend = Op(ATTEND, source=0, target=1, outputs=wide, heads=1)
    write(tmp_path, [embed(3 * wide), attend, pool(1, wide)], [3 * wide, wide, wide], max_tokens=1 << 16)
    with pytest.raises(LoadError, match="attend: too large"):
        engine.open(str(tmp_path), {"model": "model.press"}, 1)


@pytest.mark.parametrize("scale", [float("nan"), float("inf"), 3e38, 1e-40])
def test_weights_that_are_no_numbers(scale: float, engine: Engine, tmp_path: Path) -> None:
    """Refused as an answer, or right: a row too small for a scale is nothing."""
    weights = panels(np.eye(16, dtype=np.int8))
    ones, none = np.ones(16, np.float32), np.zeros(16, np.float32)
    tensors: list[Tensor | None] = [weights, ones, none, np.ones(16, np.int32)]
    identity = Op(LINEAR, source=0, target=1, inputs=16, outputs=16, tensors=tensors)
    write(tmp_path, [embed(16, scale), identity, pool(1, 16)], [16, 16, 16])
    output = engine.open(str(tmp_path), {"model": "model.press"}, 1).run([[0, 0]])
    if scale < 1:
        assert output.json(0, 16) == str([0] * 16).replace(" ", "")
        return
    with pytest.raises(EngineError, match="finite"):
        output.json(0, 16)
