"""From floats to int8: a scale per channel of weights, a scale per row of words.

Two things keep the answers close. Channels that are large where a norm writes them are made smaller, and
their weights larger, until both are as hard to round as each other; and weights are rounded not to the
nearest step but so that the layer's answers to sample texts move least.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from coldpress.optimize.press.calibrate import Calibration
from coldpress.optimize.press.file import EMBED, FLOAT_LINEAR, LINEAR, NORM, POOL, Floats, Op, PressFile
from coldpress.optimize.rounding import round_by_answers

PANEL = 16
_LARGEST = np.float32(127)
_STEPS = np.float32(254.99)  # of a row: as native/kernels_body.h has it
_FARTHEST = np.float32(16)  # how much smaller or larger a channel may be made


def quantize(file: PressFile, calibration: Calibration) -> None:
    """Replace the float layers of `file`; those that come after pooling are small and stay as they are."""
    pooled = next((at for at, op in enumerate(file.ops) if op.kind == POOL), len(file.ops))
    layers: dict[int, Op] = {}  # layers that are used again stay one
    normed: set[int] = set()
    writers: dict[int, int] = {}
    for op in file.ops[:pooled]:
        if op.kind == FLOAT_LINEAR:
            layers[id(op)] = op
            if writers.get(op.source) == NORM:
                normed.add(id(op))
        writers[op.target] = op.kind
    made: dict[int, Op] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:

        def make(given: tuple[Op, Floats]) -> None:
            op, inputs = given
            made[id(op)] = _linear(op, inputs, id(op) in normed)

        list(pool.map(make, calibration.inputs(list(layers.values()))))
    file.ops = [made.get(id(op), op) for op in file.ops]
    if file.ops[0].kind != EMBED:  # pixels are looked up in no table
        return
    words, _, *others = file.ops[0].tensors
    assert words is not None
    file.ops[0] = replace(file.ops[0], tensors=[*_by_row(words.astype(np.float32)), *others])


def _linear(op: Op, inputs: Floats, balanced: bool) -> Op:
    turned, bias = op.tensors
    assert turned is not None
    weights = turned.astype(np.float32)
    factors = _balance(inputs, weights) if balanced else None
    if factors is not None:
        weights /= factors[:, None]
        inputs = inputs * factors
    scale = np.abs(weights).max(axis=0) / _LARGEST
    scale[scale == 0] = 1
    rounded = round_by_answers(_as_rounded(inputs), weights / scale, int(_LARGEST))
    sums = rounded.sum(axis=0, dtype=np.int32)
    return replace(op, kind=LINEAR, tensors=[panels(rounded), scale.astype(np.float32), bias, sums, factors])


def _balance(inputs: Floats, weights: Floats) -> Floats:
    """What to multiply each input by, so that it and its weights are equally far from their largest."""
    large = np.sqrt(np.abs(inputs).max(axis=0) / np.maximum(np.abs(weights).max(axis=1), np.float32(1e-9)))
    middle = np.median(large)
    if not middle > 0:
        return np.ones(len(large), np.float32)
    factors: Floats = (middle / np.clip(large, middle / _FARTHEST, middle * _FARTHEST)).astype(np.float32)
    return factors


def _as_rounded(inputs: Floats) -> Floats:
    """Rows as the engine will read them: rounded to 255 steps of their range, one of which is zero."""
    high = np.maximum(inputs.max(axis=1, keepdims=True), 0)
    low = np.minimum(inputs.min(axis=1, keepdims=True), 0)
    step = (high - low) / _STEPS
    step[step == 0] = 1
    return np.ascontiguousarray(np.rint(inputs / step) * step, dtype=np.float32)


def panels(rounded: NDArray[np.int8]) -> NDArray[np.int8]:
    """Inputs × outputs, in panels of sixteen outputs, and in each, four inputs of an output side by side."""
    inputs, outputs = rounded.shape
    split = rounded.reshape(inputs // 4, 4, outputs // PANEL, PANEL)
    return np.ascontiguousarray(split.transpose(2, 0, 3, 1))


def _by_row(table: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Rows of int8, each with the scale that its largest value asks for."""
    scale = np.abs(table).max(axis=1) / _LARGEST
    scale[scale == 0] = 1
    rounded = np.clip(np.rint(table / scale[:, None]), -_LARGEST, _LARGEST).astype(np.int8)
    return rounded, scale.astype(np.float32)
