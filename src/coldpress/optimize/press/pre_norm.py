"""Encoders with a norm before each part of a layer, not after it: vision transformers, and CLIP's text tower."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from coldpress.optimize.press.file import ATTEND, COMPARE_BYTES, Floats, Op, PressFile, linear
from coldpress.optimize.press.layers import ACTIVATIONS, damp_queries, norm
from coldpress.optimize.press.weights import Weights

#: quick_gelu(x) is silu(1.702 · x) / 1.702: both factors fit into the layers before and after it
_QUICK = np.float32(1.702)


@dataclass(frozen=True)
class Names:
    """Where a family keeps its tensors; `layer` has a place for the number."""

    layer: str
    query: str = "attention.q_proj"
    key: str = "attention.k_proj"
    value: str = "attention.v_proj"
    out: str = "attention.o_proj"
    before: str = "layernorm_before"
    after: str = "layernorm_after"
    #: factors per channel of what each part of a layer adds
    scale: tuple[str, str] | None = None


@dataclass(frozen=True)
class Shape:
    width: int
    inner: int
    heads: int
    layers: int
    activation: str
    epsilon: float

    @classmethod
    def of(cls, config: Any) -> "Shape":
        """From a config of transformers."""
        width = config.hidden_size
        inner = getattr(config, "intermediate_size", None) or int(width * getattr(config, "mlp_ratio", 4))
        return cls(
            width,
            inner,
            config.num_attention_heads,
            config.num_hidden_layers,
            config.hidden_act,
            float(config.layer_norm_eps),
        )

    @property
    def plain_activation(self) -> str:
        """What the engine computes instead."""
        return "silu" if self.activation == "quick_gelu" else self.activation


def add_layers(
    file: PressFile,
    weights: Weights,
    names: Names,
    shape: Shape,
    stream: int,
    distances: Floats | None = None,
    in_bytes: bool = False,
) -> None:
    """All layers, on the buffer `stream`. `distances` is what attention adds by key − query, which it compares
    in floats or `in_bytes`."""
    between, normed, qkv, context, middle = map(
        file.buffer, (shape.width, shape.width, 3 * shape.width, shape.width, shape.inner)
    )
    for number in range(shape.layers):
        name = names.layer.format(number)
        query, query_bias = _queries(weights, names, name, shape.heads)
        out = _scaled(weights, f"{name}.{names.out}", names.scale and f"{name}.{names.scale[0]}")
        up = (weights[f"{name}.mlp.fc1.weight"], weights[f"{name}.mlp.fc1.bias"])
        down = _scaled(weights, f"{name}.mlp.fc2", names.scale and f"{name}.{names.scale[1]}")
        if shape.activation == "quick_gelu":
            up, down = (up[0] * _QUICK, up[1] * _QUICK), (down[0] / _QUICK, down[1])
        attend = Op(
            ATTEND,
            activation=COMPARE_BYTES if in_bytes else 0,
            source=qkv,
            target=context,
            outputs=shape.width,
            heads=shape.heads,
            positions=0 if distances is None else distances.shape[1] // 2,
            tensors=[distances],
        )
        file.ops += [
            norm(weights, f"{name}.{names.before}", stream, normed, shape.epsilon),
            linear(query, query_bias, source=normed, target=qkv),
            attend,
            linear(*out, source=context, target=between, residual=stream),
            norm(weights, f"{name}.{names.after}", between, normed, shape.epsilon),
            linear(*up, source=normed, target=middle, activation=ACTIVATIONS[shape.plain_activation]),
            linear(*down, source=middle, target=stream, residual=between),
        ]


def _queries(weights: Weights, names: Names, layer: str, heads: int) -> tuple[Floats, Floats]:
    parts = [f"{layer}.{part}" for part in (names.query, names.key, names.value)]
    matrix = np.concatenate([weights[f"{part}.weight"] for part in parts])
    found = [weights.optional(f"{part}.bias") for part in parts]
    width = len(matrix) // 3
    bias = np.concatenate([np.zeros(width, np.float32) if one is None else one for one in found])
    damp_queries(matrix, bias, heads)
    return matrix, bias


def _scaled(weights: Weights, name: str, scale: str | None) -> tuple[Floats, Floats]:
    matrix, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
    if scale is None:
        return matrix, bias
    factors = weights[scale]
    return matrix * factors[:, None], bias * factors
