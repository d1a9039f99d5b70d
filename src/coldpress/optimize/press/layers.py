"""The pieces that families are put together from."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from coldpress.errors import UnsupportedModel
from coldpress.optimize.press.file import NORM, Floats, Op, PressFile, linear
from coldpress.optimize.press.weights import Weights

#: what transformers calls an activation → what the engine has
ACTIVATIONS = {
    "gelu": "gelu",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}


@dataclass(frozen=True)
class Encoder:
    """A model up to its last layer; `hidden` is the buffer that holds a vector per token."""

    file: PressFile
    hidden: int
    width: int


def named_linear(weights: Weights, name: str, **places: int | str) -> Op:
    return linear(weights[f"{name}.weight"], weights.optional(f"{name}.bias"), **places)  # type: ignore[arg-type]  # passed on as given


def norm(weights: Weights, name: str, source: int, target: int, epsilon: float) -> Op:
    gamma = weights[f"{name}.weight"]
    tensors = [gamma, weights.optional(f"{name}.bias")]
    return Op(NORM, source=source, target=target, outputs=len(gamma), epsilon=epsilon, tensors=[*tensors])


def damp_queries(qkv: Floats, bias: Floats | None, heads: int) -> None:
    """Scores are divided by √size: folded into the queries, where it costs nothing."""
    width = len(qkv) // 3
    damping = np.float32(1 / np.sqrt(width / heads))
    qkv[:width] *= damping
    if bias is not None:
        bias[:width] *= damping


def refuse(origin: str, reasons: Mapping[str, object]) -> None:
    for reason, applies in reasons.items():
        if applies:
            raise UnsupportedModel(f"the press engine cannot run {origin}: {reason}")


def refuse_sizes(origin: str, width: int, inner: int, heads: int, activation: str) -> None:
    size = width // heads
    odd = width % 16 or inner % 16 or width % heads or size % 16
    refuse(
        origin,
        {
            f"its sizes ({width}, {inner}, {size} per head) are not multiples of 16": odd,
            f"its activation is {activation!r}": activation not in ACTIVATIONS,
        },
    )
