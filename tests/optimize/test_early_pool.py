"""Pooling before the rest of the last layer: less work, and not a bit of the answers changed."""

from collections.abc import Callable
from pathlib import Path

import pytest
from families import make

from coldpress.intake import Options, find
from coldpress.intake.source import TextEncoder
from coldpress.optimize.press import lower
from coldpress.optimize.press.calibrate import Calibration
from coldpress.optimize.press.early_pool import pool_early
from coldpress.optimize.press.file import ATTEND, POOL, Op, PressFile
from coldpress.optimize.press.quantize import quantize
from coldpress.package.libraries import host_architecture, own_library
from coldpress_runtime.engines.press import LIBRARY, Engine

TEXTS = [[101, 7592, 102], [101, 2023, 2003, 1037, 2936, 3793, 102], [101, 102], [101, *range(1000, 1070), 102]]

Opened = Callable[[PressFile], bytes]


@pytest.fixture
def answers(tmp_path: Path) -> Opened:
    (tmp_path / LIBRARY).write_bytes(own_library("press", host_architecture()))

    def run(file: PressFile) -> bytes:
        file.write(tmp_path / "model.press")
        session = Engine((str(tmp_path),)).open(str(tmp_path), {"model": "model.press"}, 2)
        output = session.run(TEXTS)
        found = output.raw(0, len(TEXTS) * file.dimensions)
        session.close()
        return found

    return run


def lowered(family: str, pooling: str, minilm: Path, folder: Path) -> PressFile:
    make(family, minilm, folder / "model")
    with find(folder / "model", Options(max_tokens=128, pooling=pooling)) as source:
        assert isinstance(source, TextEncoder)
        file = lower(source)
        calibration = Calibration(file, [(ids, [0] * len(ids)) for ids in TEXTS], folder)
    quantize(file, calibration)
    calibration.close()
    return file


@pytest.mark.parametrize("pooling", ["cls", "lasttoken"])
@pytest.mark.parametrize("family", ["bert", "albert", "mpnet", "modernbert"])
def test_not_a_bit_is_changed(
    family: str, pooling: str, answers: Opened, minilm_folder: Path, tmp_path: Path
) -> None:
    file = lowered(family, pooling, minilm_folder, tmp_path)
    before, ops = answers(file), file.ops
    assert pool_early(file)
    assert answers(file) == before
    first = next(at for at, op in enumerate(file.ops) if op.kind == POOL)
    assert file.ops[first - 1].kind == ATTEND
    assert [op.kind for op in ops[: first - 1]] == [op.kind for op in file.ops[: first - 1]]


@pytest.mark.parametrize("pooling", ["mean", "max", "none"])
def test_all_tokens_are_kept_where_all_are_read(pooling: str, minilm_folder: Path, tmp_path: Path) -> None:
    file = lowered("bert", pooling, minilm_folder, tmp_path)
    ops = list(file.ops)
    assert not pool_early(file)
    assert file.ops == ops


def test_poolings_side_by_side_stay() -> None:
    pools = [Op(POOL, activation=2, source=1, target=2, inputs=16, column=at) for at in (0, 16)]
    file = PressFile(8, widths=[48, 16, 32], ops=[Op(ATTEND, source=0, target=1), *pools])
    assert not pool_early(file)
