"""Weights rounded by what a layer answers, whatever its sizes are."""

import numpy as np
import pytest

from coldpress.optimize.rounding import round_by_answers


@pytest.mark.parametrize(("inputs", "outputs"), [(16, 16), (24, 40), (1, 1), (17, 3), (200, 130), (33, 16)])
def test_answers_move_less_than_by_the_nearest_step(inputs: int, outputs: int) -> None:
    generator = np.random.default_rng(0)
    mixed = generator.standard_normal((inputs, inputs)).astype(np.float32)
    rows = (generator.standard_normal((4 * inputs, inputs)) @ mixed).astype(np.float32)
    steps = (generator.standard_normal((inputs, outputs)) * 20).astype(np.float32)
    rounded = round_by_answers(rows, steps, 64)
    assert rounded.shape == steps.shape
    assert np.abs(rounded).max() <= 64
    by_answers = np.linalg.norm(rows @ (rounded - steps))
    to_nearest = np.linalg.norm(rows @ (np.clip(np.rint(steps), -64, 64) - steps))
    assert by_answers <= to_nearest * (1.001 if inputs > 1 else 1.5)


def test_too_few_rows_are_rounded_to_the_nearest() -> None:
    steps = np.array([[0.6, -1.4], [2.2, 70.0]], np.float32)
    assert round_by_answers(np.ones((1, 2), np.float32), steps, 64).tolist() == [[1, -1], [2, 64]]
