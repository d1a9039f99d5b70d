"""RoBERTa, XLM-R and CamemBERT: BERT whose positions begin after the padding token's."""

from dataclasses import replace
from typing import Any

from coldpress.intake.source import TextEncoder
from coldpress.optimize.press.bert import DEFAULTS, bert_shape
from coldpress.optimize.press.layers import Encoder
from coldpress.optimize.press.post_norm import Names, Shape, lower_post_norm
from coldpress.optimize.press.weights import Weights, read_config


def lower_roberta(source: TextEncoder, weights: Weights) -> Encoder:
    config = read_config(source.folder, DEFAULTS | {"pad_token_id": 1})
    return lower_post_norm(source, weights, roberta_shape(source, config), Names(layer="encoder.layer.{}"))


def roberta_shape(source: TextEncoder, config: dict[str, Any]) -> Shape:
    padding = int(config["pad_token_id"])
    return replace(bert_shape(source, config), first_position=padding + 1, padding=padding)
