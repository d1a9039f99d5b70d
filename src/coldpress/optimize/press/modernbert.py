"""ModernBERT: norms before each part, rotated queries and keys, gated layers, attention that is mostly local."""

from typing import Any

import numpy as np

from coldpress.intake.source import TextEncoder
from coldpress.optimize.press.file import ACTIVATIONS as ENGINE_ACTIVATIONS
from coldpress.optimize.press.file import ATTEND, EMBED, GATE, ROTATE, Floats, Op, PressFile, linear
from coldpress.optimize.press.layers import (
    ACTIVATIONS,
    Encoder,
    damp_queries,
    named_linear,
    norm,
    refuse,
    refuse_sizes,
)
from coldpress.optimize.press.weights import Weights, read_config

DEFAULTS = {
    "hidden_size": 768,
    "intermediate_size": 1152,
    "num_hidden_layers": 22,
    "num_attention_heads": 12,
    "hidden_activation": "gelu",
    "norm_eps": 1e-5,
    "local_attention": 128,
    "global_attn_every_n_layers": 3,
    "global_rope_theta": 160_000.0,
    "local_rope_theta": 10_000.0,
}
_FULL, _LOCAL = "full_attention", "sliding_attention"


def lower_modernbert(source: TextEncoder, weights: Weights) -> Encoder:
    config = read_config(source.folder, DEFAULTS)
    width, heads, inner = config["hidden_size"], config["num_attention_heads"], config["intermediate_size"]
    epsilon = float(config["norm_eps"])
    refuse_sizes(source.origin, width, inner, heads, config["hidden_activation"])
    words = weights["embeddings.tok_embeddings.weight"]
    file = PressFile(source.max_tokens, vocabulary=len(words))
    stream, between, normed, qkv, context, halves, gated = map(
        file.buffer, (width, width, width, 3 * width, width, 2 * inner, inner)
    )
    turns = {kind: _turns(source, config, kind, width // heads) for kind in (_FULL, _LOCAL)}
    file.ops = [
        Op(EMBED, target=stream, outputs=width, tensors=[words, None]),
        norm(weights, "embeddings.norm", stream, stream, epsilon),
    ]
    for number, kind in enumerate(_layer_types(config)):
        name = f"layers.{number}"
        both = weights[f"{name}.attn.Wqkv.weight"]
        bias = weights.optional(f"{name}.attn.Wqkv.bias")
        damp_queries(both, bias, heads)
        if number:  # the first layer takes the embeddings' norm for its own
            file.ops.append(norm(weights, f"{name}.attn_norm", stream, normed, epsilon))
        file.ops += [
            linear(both, bias, source=normed if number else stream, target=qkv),
            Op(ROTATE, target=qkv, outputs=width, heads=heads, positions=source.max_tokens, tensors=[turns[kind]]),
            Op(
                ATTEND,
                source=qkv,
                target=context,
                outputs=width,
                heads=heads,
                window=config["local_attention"] // 2 if kind == _LOCAL else 0,
            ),
            named_linear(weights, f"{name}.attn.Wo", source=context, target=between, residual=stream),
            norm(weights, f"{name}.mlp_norm", between, normed, epsilon),
            named_linear(weights, f"{name}.mlp.Wi", source=normed, target=halves),
            Op(
                GATE,
                source=halves,
                target=gated,
                outputs=inner,
                activation=ENGINE_ACTIVATIONS[ACTIVATIONS[config["hidden_activation"]]],
            ),
            named_linear(weights, f"{name}.mlp.Wo", source=gated, target=stream, residual=between),
        ]
    file.ops.append(norm(weights, "final_norm", stream, stream, epsilon))
    return Encoder(file, stream, width)


def _layer_types(config: dict[str, Any]) -> list[str]:
    named = config.get("layer_types")
    if named:
        return list(named)
    every = config["global_attn_every_n_layers"]
    return [_LOCAL if number % every else _FULL for number in range(config["num_hidden_layers"])]


def _turns(source: TextEncoder, config: dict[str, Any], kind: str, size: int) -> Floats:
    """Cosines and sines of each position, side by side."""
    old = config["global_rope_theta" if kind == _FULL else "local_rope_theta"]
    rope = (config.get("rope_parameters") or {}).get(kind) or {}
    unusual = rope.get("rope_type", "default")
    refuse(source.origin, {f"its rotation is of the type {unusual!r}": unusual != "default"})
    theta = float(rope.get("rope_theta") or old or config["global_rope_theta"])
    speeds = 1 / theta ** (np.arange(0, size, 2, dtype=np.float64) / size)
    angles = np.arange(source.max_tokens)[:, None] * speeds[None, :]
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
