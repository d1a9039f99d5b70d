"""Rounding weights so that a layer's answers move least: native/round.c, for every engine's int8."""

import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coldpress.package.libraries import host_architecture, own_library
from coldpress_runtime.native import open_library, symbol

if TYPE_CHECKING:
    from _ctypes import CFuncPtr

Floats = NDArray[np.float32]

_LANES = 16
_THOUSANDTHS = 100  # of the inputs' mean energy, added to each: what was seen in calibration is not all there is


def round_by_answers(inputs: Floats, steps: Floats, largest: int) -> NDArray[np.int8]:
    """`steps` (inputs × outputs, in units of the grid) as integers up to `largest`, given what the layer reads."""
    # Fewer rows than inputs leave directions that nothing was seen in, and weights would wander off along them.
    enough = len(inputs) >= inputs.shape[1]
    found = _rounded(inputs, steps) if enough else None
    return np.clip(np.rint(steps) if found is None else found, -largest, largest).astype(np.int8)


def _rounded(inputs: Floats, steps: Floats) -> NDArray[np.int8] | None:
    """By the library, which takes sixteens: what is missing to them is filled up with zeros, and cut off again."""
    wide, high = -steps.shape[0] % _LANES, -steps.shape[1] % _LANES
    read = np.ascontiguousarray(np.pad(inputs, ((0, 0), (0, wide))), np.float32)
    full = np.ascontiguousarray(np.pad(steps, ((0, wide), (0, high))), np.float32)
    rounded = np.empty(full.shape, np.int8)
    done = _function()(
        read.ctypes.data, *read.shape, full.shape[1], _THOUSANDTHS, full.ctypes.data, rounded.ctypes.data
    )
    return rounded[: steps.shape[0], : steps.shape[1]] if done else None


def coarse(scale: Floats) -> Floats:
    """Scales with eight bits of mantissa: a grid 0.8 % wider at most, and half the bytes in a zip."""
    bits = np.ascontiguousarray(scale, np.float32).view(np.uint32)
    return ((bits + np.uint32(0xFFFF)) & np.uint32(0xFFFF0000)).view(np.float32)


@cache
def _function() -> "CFuncPtr":
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "libpress.so"
        path.write_bytes(own_library("press", host_architecture()))
        return symbol(open_library(str(path)), "press_round", 7)
