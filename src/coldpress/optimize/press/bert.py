"""BERT and what is built on it (MiniLM, BGE, E5, GTE), and ELECTRA, which widens narrow embeddings."""

from typing import Any

from coldpress.errors import UnsupportedModel
from coldpress.intake.source import Source
from coldpress.optimize.press.file import PressFile
from coldpress.optimize.press.post_norm import Names, Shape, lower_post_norm
from coldpress.optimize.press.weights import Weights, full_config


def lower_bert(source: Source) -> PressFile:
    config = full_config(source.folder)
    names = Names(layer="encoder.layer.{}", widen="embeddings_project")
    return lower_post_norm(source, Weights(source.folder), bert_shape(source, config), names)


def bert_shape(source: Source, config: dict[str, Any]) -> Shape:
    if config.get("position_embedding_type", "absolute") not in ("absolute", None):
        raise UnsupportedModel(f"the press engine cannot run {source.origin}: it counts positions relatively")
    if config.get("is_decoder"):
        raise UnsupportedModel(f"the press engine cannot run {source.origin}: it is a decoder")
    return Shape(
        width=config["hidden_size"],
        inner=config["intermediate_size"],
        heads=config["num_attention_heads"],
        layers=config["num_hidden_layers"],
        activation=config["hidden_act"],
        epsilon=float(config["layer_norm_eps"]),
    )
