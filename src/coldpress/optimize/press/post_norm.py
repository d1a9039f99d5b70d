"""Encoders built like BERT: a norm after each sum. What differs between families is names and details."""

from dataclasses import dataclass

import numpy as np

from coldpress.intake.source import TextEncoder
from coldpress.optimize.press.file import ATTEND, EMBED, Floats, Op, PressFile, linear
from coldpress.optimize.press.layers import (
    ACTIVATIONS,
    Encoder,
    damp_queries,
    named_linear,
    norm,
    refuse,
    refuse_sizes,
)
from coldpress.optimize.press.weights import Weights


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


@dataclass(frozen=True)
class Buffers:
    hidden: int
    qkv: int
    context: int
    sum: int
    inner: int


def lower_post_norm(
    source: TextEncoder, weights: Weights, shape: Shape, names: Names, distances: Floats | None = None
) -> Encoder:
    """`distances` holds, per head, what attention adds to a score by how far the key is from the query."""
    refuse_sizes(source.origin, shape.width, shape.inner, shape.heads, shape.activation)
    words = weights["embeddings.word_embeddings.weight"]
    positions = weights["embeddings.position_embeddings.weight"]
    types = weights[names.types] if names.types else None
    narrow = words.shape[1]
    file = PressFile(source.max_tokens, vocabulary=len(words))
    buffers = Buffers(*map(file.buffer, (shape.width, 3 * shape.width, shape.width, shape.width, shape.inner)))
    first = buffers.hidden if narrow == shape.width else file.buffer(narrow)
    file.ops = [
        Op(
            EMBED,
            target=first,
            outputs=narrow,
            positions=len(positions),
            first_position=shape.first_position,
            padding=shape.padding,
            types=0 if types is None else len(types),
            tensors=[words, None, positions, types],
        ),
        norm(weights, "embeddings.LayerNorm", first, first, shape.epsilon),
    ]
    if first != buffers.hidden:
        odd = narrow % 16 or names.widen is None
        refuse(source.origin, {f"embeddings of {narrow} do not fit": odd})
        file.ops.append(named_linear(weights, str(names.widen), source=first, target=buffers.hidden))
    made: dict[str, list[Op]] = {}
    for number in range(shape.layers):
        name = names.layer.format(number)
        if name not in made:  # families that share their layers have one name for all
            made[name] = _layer(weights, name, names, shape, buffers, distances)
        file.ops += made[name]
    return Encoder(file, buffers.hidden, shape.width)


def _layer(
    weights: Weights, name: str, names: Names, shape: Shape, buffers: Buffers, distances: Floats | None
) -> list[Op]:
    parts = [f"{name}.{part}" for part in (names.query, names.key, names.value)]
    qkv = np.concatenate([weights[f"{part}.weight"] for part in parts])
    bias = np.concatenate([weights[f"{part}.bias"] for part in parts])
    damp_queries(qkv, bias, shape.heads)
    activation = ACTIVATIONS[shape.activation]
    attend = Op(
        ATTEND,
        source=buffers.qkv,
        target=buffers.context,
        outputs=shape.width,
        heads=shape.heads,
        positions=0 if distances is None else distances.shape[1] // 2,
        tensors=[distances],
    )
    return [
        linear(qkv, bias, source=buffers.hidden, target=buffers.qkv),
        attend,
        named_linear(
            weights, f"{name}.{names.out}", source=buffers.context, target=buffers.sum, residual=buffers.hidden
        ),
        norm(weights, f"{name}.{names.out_norm}", buffers.sum, buffers.sum, shape.epsilon),
        named_linear(
            weights, f"{name}.{names.up}", source=buffers.sum, target=buffers.inner, activation=activation
        ),
        named_linear(
            weights, f"{name}.{names.down}", source=buffers.inner, target=buffers.hidden, residual=buffers.sum
        ),
        norm(weights, f"{name}.{names.down_norm}", buffers.hidden, buffers.hidden, shape.epsilon),
    ]
