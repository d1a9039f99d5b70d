"""BERT and what is built on it (MiniLM, BGE, E5, GTE), and ELECTRA, which widens narrow embeddings."""

from typing import Any

from coldpress.intake.source import TextEncoder
from coldpress.optimize.press.layers import Encoder, refuse
from coldpress.optimize.press.post_norm import Names, Shape, lower_post_norm
from coldpress.optimize.press.weights import Weights, read_config

DEFAULTS = {
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
}
SMALL = {"hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024}


def lower_bert(source: TextEncoder, weights: Weights) -> Encoder:
    return _lower(source, weights, DEFAULTS)


def lower_electra(source: TextEncoder, weights: Weights) -> Encoder:
    return _lower(source, weights, DEFAULTS | SMALL)


def _lower(source: TextEncoder, weights: Weights, defaults: dict[str, Any]) -> Encoder:
    shape = bert_shape(source, read_config(source.folder, defaults))
    return lower_post_norm(source, weights, shape, Names(layer="encoder.layer.{}", widen="embeddings_project"))


def bert_shape(source: TextEncoder, config: dict[str, Any]) -> Shape:
    relative = config.get("position_embedding_type", "absolute") not in ("absolute", None)
    refuse(
        source.origin,
        {"it counts positions relatively": relative, "it is a decoder": config.get("is_decoder")},
    )
    return Shape(
        width=config["hidden_size"],
        inner=config["intermediate_size"],
        heads=config["num_attention_heads"],
        layers=config["num_hidden_layers"],
        activation=config["hidden_act"],
        epsilon=float(config["layer_norm_eps"]),
    )
