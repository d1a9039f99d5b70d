"""RoBERTa, XLM-R and CamemBERT: BERT whose positions begin after the padding token's."""

from dataclasses import replace

from coldpress.intake.source import Source
from coldpress.optimize.press.bert import bert_shape
from coldpress.optimize.press.file import PressFile
from coldpress.optimize.press.post_norm import Names, lower_post_norm
from coldpress.optimize.press.weights import Weights, full_config


def lower_roberta(source: Source) -> PressFile:
    config = full_config(source.folder)
    padding = int(config["pad_token_id"])
    shape = replace(bert_shape(source, config), first_position=padding + 1, padding=padding)
    return lower_post_norm(source, Weights(source.folder), shape, Names(layer="encoder.layer.{}"))
