"""BERT and what is built like it: MiniLM, BGE, E5, GTE."""

import json
from pathlib import Path
from typing import Any, cast

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

_HIDDEN, _QKV, _CONTEXT, _SUM, _INNER = range(5)
_ACTIVATIONS = {"gelu": "gelu", "relu": "relu", "silu": "silu"}


def lower_bert(source: Source) -> PressFile:
    config = json.loads((source.folder / "config.json").read_text(encoding="utf-8"))
    weights = Weights(source.folder)
    width, inner, heads = config["hidden_size"], config["intermediate_size"], config["num_attention_heads"]
    _check(source, config)
    words, scales = rows(weights["embeddings.word_embeddings.weight"])
    positions = weights["embeddings.position_embeddings.weight"]
    epsilon = float(config["layer_norm_eps"])
    ops = [
        Op(
            EMBED,
            target=_HIDDEN,
            outputs=width,
            positions=len(positions),
            tensors=[words, scales, positions, weights["embeddings.token_type_embeddings.weight"][0]],
        ),
        _norm(weights, "embeddings.LayerNorm", width, _HIDDEN, epsilon),
    ]
    for layer in range(config["num_hidden_layers"]):
        ops += _layer(weights, f"encoder.layer.{layer}", width, heads, config["hidden_act"], epsilon)
    ops.append(
        Op(POOL, activation=POOLS[source.pooling[0] if source.pooling else "none"], source=_HIDDEN, inputs=width)
    )
    if source.normalize:
        ops.append(Op(NORMALIZE))
    return PressFile(
        dimensions=width,
        max_tokens=source.max_tokens,
        vocabulary=len(words),
        widths=[width, 3 * width, width, width, inner],
        ops=ops,
    )


def _check(source: Source, config: dict[str, Any]) -> None:
    width, inner, heads = config["hidden_size"], config["intermediate_size"], config["num_attention_heads"]
    reasons = {
        f"its sizes ({width}, {inner}, {width // heads} per head) are not multiples of 16": width % 16
        or inner % 16
        or width % heads
        or width // heads % 16,
        f"its activation is {config['hidden_act']!r}": config["hidden_act"] not in _ACTIVATIONS,
        "it counts positions relatively": config.get("position_embedding_type", "absolute") != "absolute",
        "it is a decoder": config.get("is_decoder", False),
        "it pools in several ways at once": len(source.pooling) > 1,
    }
    for reason, applies in reasons.items():
        if applies:
            raise UnsupportedModel(
                f"the press engine cannot run {source.origin}: {reason}; use --engine onnxruntime"
            )


def _layer(weights: "Weights", name: str, width: int, heads: int, activation: str, epsilon: float) -> list[Op]:
    own, output = f"{name}.attention.self", f"{name}.attention.output"
    # Scores are divided by √size: folded into the queries, where it costs nothing.
    damping = np.float32(1 / np.sqrt(width / heads))
    qkv = np.concatenate([weights[f"{own}.{part}.weight"] for part in ("query", "key", "value")])
    bias = np.concatenate([weights[f"{own}.{part}.bias"] for part in ("query", "key", "value")])
    attend = linear(qkv, bias, source=_HIDDEN, target=_QKV)
    _, scales, biases, _ = cast("list[Floats]", attend.tensors)
    scales[:width] *= damping
    biases[:width] *= damping
    return [
        attend,
        Op(ATTEND, source=_QKV, target=_CONTEXT, outputs=width, heads=heads),
        linear(
            weights[f"{output}.dense.weight"],
            weights[f"{output}.dense.bias"],
            source=_CONTEXT,
            target=_SUM,
            residual=_HIDDEN,
        ),
        _norm(weights, f"{output}.LayerNorm", width, _SUM, epsilon),
        linear(
            weights[f"{name}.intermediate.dense.weight"],
            weights[f"{name}.intermediate.dense.bias"],
            source=_SUM,
            target=_INNER,
            activation=_ACTIVATIONS[activation],
        ),
        linear(
            weights[f"{name}.output.dense.weight"],
            weights[f"{name}.output.dense.bias"],
            source=_INNER,
            target=_HIDDEN,
            residual=_SUM,
        ),
        _norm(weights, f"{name}.output.LayerNorm", width, _HIDDEN, epsilon),
    ]


def _norm(weights: "Weights", name: str, width: int, target: int, epsilon: float) -> Op:
    return Op(
        NORM,
        target=target,
        outputs=width,
        epsilon=epsilon,
        tensors=[weights[f"{name}.weight"], weights[f"{name}.bias"]],
    )


class Weights:
    """A folder's safetensors, by name, with or without the prefix that some models save them with."""

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load_file

        self._tensors: dict[str, Any] = {}
        for path in sorted(folder.glob("model*.safetensors")):
            self._tensors |= load_file(path)

    def __getitem__(self, name: str) -> Floats:
        for candidate in (
            name,
            f"bert.{name}",
            name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"),
        ):
            if candidate in self._tensors:
                values: Floats = self._tensors[candidate].astype(np.float32)
                return values
        raise UnsupportedModel(f"the weights have no tensor called {name}")
