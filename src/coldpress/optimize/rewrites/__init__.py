"""Rewrites of a graph, one file each: the same answers, or nearly, from less work or fewer bytes.

Each file has one function `apply(model, context, setting)` and says what it gains, and on what.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Protocol

import onnx

from coldpress.errors import UsageError
from coldpress.tasks import Feed

#: what recipes call them → the file
REWRITES = {
    "drop-zeros": "drop_zeros",
    "fast-gelu": "fast_gelu",
    "fuse": "fuse",
    "fuse-attention": "fuse_attention",
    "half": "half",
    "int8-conv": "int8_conv",
    "int8-embeddings": "int8_embeddings",
    "int8-lstm": "int8_lstm",
    "int8-matmul": "int8_matmul",
    "skip-norm": "skip_norm",
    "smooth": "smooth",
    "split-bias": "split_bias",
    "unfold-gemm": "unfold_gemm",
}


@dataclass(frozen=True)
class Context:
    """What a rewrite may ask for."""

    calibrate: Callable[[], list[Feed]]
    #: inputs of the smallest and the largest sizes that the graph must take
    probes: Callable[[], list[Feed]]
    work: Path
    #: layers that stay in floats
    keep: tuple[str, ...] = ()

    @cached_property
    def calibration(self) -> list[Feed]:
        return self.calibrate()


class Rewrite(Protocol):
    def __call__(self, model: onnx.ModelProto, context: Context, setting: str) -> onnx.ModelProto: ...


def find_rewrite(name: str) -> Rewrite:
    if name not in REWRITES:
        raise UsageError(f"there is no rewrite {name!r}; known are: {', '.join(REWRITES)}")
    rewrite: Rewrite = import_module(f"coldpress.optimize.rewrites.{REWRITES[name]}").apply
    return rewrite
