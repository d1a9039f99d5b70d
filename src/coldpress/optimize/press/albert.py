"""ALBERT: one layer, used again and again, over narrow embeddings."""

from coldpress.errors import UnsupportedModel
from coldpress.intake.source import Source
from coldpress.optimize.press.bert import bert_shape
from coldpress.optimize.press.file import PressFile
from coldpress.optimize.press.post_norm import Names, lower_post_norm
from coldpress.optimize.press.weights import Weights, full_config

NAMES = Names(
    layer="encoder.albert_layer_groups.0.albert_layers.0",
    query="attention.query",
    key="attention.key",
    value="attention.value",
    out="attention.dense",
    out_norm="attention.LayerNorm",
    up="ffn",
    down="ffn_output",
    down_norm="full_layer_layer_norm",
    widen="encoder.embedding_hidden_mapping_in",
)


def lower_albert(source: Source) -> PressFile:
    config = full_config(source.folder)
    if config.get("num_hidden_groups") != 1 or config.get("inner_group_num") != 1:
        raise UnsupportedModel(f"the press engine cannot run {source.origin}: it has several groups of layers")
    return lower_post_norm(source, Weights(source.folder), bert_shape(source, config), NAMES)
