"""ALBERT: one layer, used again and again, over narrow embeddings."""

from coldpress.intake.source import TextEncoder
from coldpress.optimize.press.bert import DEFAULTS, bert_shape
from coldpress.optimize.press.layers import Encoder, refuse
from coldpress.optimize.press.post_norm import Names, lower_post_norm
from coldpress.optimize.press.weights import Weights, read_config

LARGE = {"hidden_size": 4096, "num_attention_heads": 64, "intermediate_size": 16384, "hidden_act": "gelu_new"}
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


def lower_albert(source: TextEncoder, weights: Weights) -> Encoder:
    config = read_config(source.folder, DEFAULTS | LARGE)
    groups = config.get("num_hidden_groups", 1) != 1 or config.get("inner_group_num", 1) != 1
    refuse(source.origin, {"it has several groups of layers": groups})
    return lower_post_norm(source, weights, bert_shape(source, config), NAMES)
