"""Encoders built like BERT: a norm after each sum. What differs between families is names and details."""

from dataclasses import dataclass
from typing import cast

import numpy as np

from coldpress.errors import UnsupportedModel
from coldpress.intake.source import Source
from coldpress.optimize.press.file import (
    ATTEND,
    EMBED,
    NORM,
    NORMALIZE,
    POOL,
    POOLS,
    Floats,
    Op,
    PressFile,
    linear,
    rows,
)
from coldpress.optimize.press.weights import Weights

_HIDDEN, _QKV, _CONTEXT, _SUM, _INNER, _NARROW = range(6)
ACTIVATIONS = {
    "gelu": "gelu",
    "relu": "relu",
    "silu": "silu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}


@dataclass(frozen=True)
class Shape:
    width: int
    inner: int
    heads: int
    layers: int
    activation: str
    epsilon: float
    #: what position the first token has, and the padding token that has none of its own (or None)
    first_position: int = 0
    padding: int | None = None


@dataclass(frozen=True)
class Names:
    """Where a family keeps its tensors; `layer` has a place for the number."""

    layer: str
    query: str = "attention.self.query"
    key: str = "attention.self.key"
    value: str = "attention.self.value"
    out: str = "attention.output.dense"
    out_norm: str = "attention.output.LayerNorm"
    up: str = "intermediate.dense"
    down: str = "output.dense"
    down_norm: str = "output.LayerNorm"
    types: str | None = "embeddings.token_type_embeddings.weight"
    #: a layer that widens narrow embeddings, where there is one
    widen: str | None = None


def lower_post_norm(source: Source, weights: Weights, shape: Shape, names: Names) -> PressFile:
    _check(source, shape)
    table = weights["embeddings.word_embeddings.weight"]
    words, scales = rows(table)
    positions = weights["embeddings.position_embeddings.weight"]
    narrow = table.shape[1]
    widened = narrow != shape.width
    first = _NARROW if widened else _HIDDEN
    ops = [
        Op(
            EMBED,
            target=first,
            outputs=narrow,
            positions=len(positions),
            first_position=shape.first_position,
            padding=shape.padding,
            tensors=[words, scales, positions, weights[names.types][0] if names.types else None],
        ),
        _norm(weights, "embeddings.LayerNorm", narrow, first, shape.epsilon),
    ]
    if widened:
        if narrow % 16 or names.widen is None:
            raise UnsupportedModel(
                f"the press engine cannot run {source.origin}: embeddings of {narrow} do not fit"
            )
        ops.append(_linear(weights, names.widen, source=_NARROW, target=_HIDDEN))
    made: dict[str, list[Op]] = {}
    for number in range(shape.layers):
        name = names.layer.format(number)
        if name not in made:  # families that share their layers have one name for all
            made[name] = _layer(weights, name, names, shape)
        ops += made[name]
    ops.append(
        Op(
            POOL,
            activation=POOLS[source.pooling[0] if source.pooling else "none"],
            source=_HIDDEN,
            inputs=shape.width,
        )
    )
    if source.normalize:
        ops.append(Op(NORMALIZE))
    widths = [shape.width, 3 * shape.width, shape.width, shape.width, shape.inner, narrow if widened else 0]
    return PressFile(shape.width, source.max_tokens, len(words), widths, ops)


def _check(source: Source, shape: Shape) -> None:
    size = shape.width // shape.heads
    reasons = {
        f"its sizes ({shape.width}, {shape.inner}, {size} per head) are not multiples of 16": shape.width % 16
        or shape.inner % 16
        or shape.width % shape.heads
        or size % 16,
        f"its activation is {shape.activation!r}": shape.activation not in ACTIVATIONS,
        "it pools in several ways at once": len(source.pooling) > 1,
    }
    for reason, applies in reasons.items():
        if applies:
            raise UnsupportedModel(f"the press engine cannot run {source.origin}: {reason}")


def _layer(weights: Weights, name: str, names: Names, shape: Shape) -> list[Op]:
    parts = [f"{name}.{part}" for part in (names.query, names.key, names.value)]
    qkv = np.concatenate([weights[f"{part}.weight"] for part in parts])
    bias = np.concatenate([weights[f"{part}.bias"] for part in parts])
    attend = linear(qkv, bias, source=_HIDDEN, target=_QKV)
    # Scores are divided by √size: folded into the queries, where it costs nothing.
    damping = np.float32(1 / np.sqrt(shape.width / shape.heads))
    _, scales, biases, _ = cast("list[Floats]", attend.tensors)
    scales[: shape.width] *= damping
    biases[: shape.width] *= damping
    return [
        attend,
        Op(ATTEND, source=_QKV, target=_CONTEXT, outputs=shape.width, heads=shape.heads),
        _linear(weights, f"{name}.{names.out}", source=_CONTEXT, target=_SUM, residual=_HIDDEN),
        _norm(weights, f"{name}.{names.out_norm}", shape.width, _SUM, shape.epsilon),
        _linear(
            weights, f"{name}.{names.up}", source=_SUM, target=_INNER, activation=ACTIVATIONS[shape.activation]
        ),
        _linear(weights, f"{name}.{names.down}", source=_INNER, target=_HIDDEN, residual=_SUM),
        _norm(weights, f"{name}.{names.down_norm}", shape.width, _HIDDEN, shape.epsilon),
    ]


def _linear(weights: Weights, name: str, **places: int | str) -> Op:
    return linear(weights[f"{name}.weight"], weights.optional(f"{name}.bias"), **places)  # type: ignore[arg-type]  # passed on as given


def _norm(weights: Weights, name: str, width: int, target: int, epsilon: float) -> Op:
    tensors = [weights[f"{name}.weight"], weights[f"{name}.bias"]]
    return Op(NORM, target=target, outputs=width, epsilon=epsilon, tensors=[*tensors])
