"""Samples: the built-in texts, and tensors made up where nobody gave any."""

import json
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

_IMAGE_AXES = 4


def builtin_texts(package: str, path: str) -> list[str]:
    """The texts of a samples file inside `package`: JSON Lines, one object per line."""
    # Not splitlines(): a text may hold any of the characters that it would split at.
    lines = files(package).joinpath(path).read_text("utf-8").split("\n")
    return [json.loads(line)["text"] for line in lines if line]


def varied(shape: list[int], generator: np.random.Generator) -> NDArray[np.float32]:
    """Noise that differs from sample to sample also when it is averaged: in strength, by channel, from place to
    place. Plain noise looks the same to every model that pools."""
    values = generator.uniform(0.3, 1.5) * generator.standard_normal(shape)
    if len(shape) > 1:
        values += 0.5 * generator.standard_normal([*shape[:2], *[1] * (len(shape) - 2)])
    if len(shape) == _IMAGE_AXES:
        coarse = generator.standard_normal([*shape[:2], 4, 4])
        for axis in (2, 3):
            places = np.arange(shape[axis]) * coarse.shape[axis] // shape[axis]
            coarse = coarse.take(places, axis)
        values += coarse
    return values.astype(np.float32)
