"""MPNet: RoBERTa without token types, and with a bias by distance that all layers share."""

import numpy as np

from coldpress.intake.source import TextEncoder
from coldpress.optimize.press.bert import DEFAULTS
from coldpress.optimize.press.file import Floats
from coldpress.optimize.press.layers import Encoder
from coldpress.optimize.press.post_norm import Names, lower_post_norm
from coldpress.optimize.press.roberta import roberta_shape
from coldpress.optimize.press.weights import Weights, read_config

NAMES = Names(
    layer="encoder.layer.{}",
    query="attention.attn.q",
    key="attention.attn.k",
    value="attention.attn.v",
    out="attention.attn.o",
    out_norm="attention.LayerNorm",
    types=None,
)
FARTHEST = 128  # beyond this distance all is one


def lower_mpnet(source: TextEncoder, weights: Weights) -> Encoder:
    config = read_config(source.folder, DEFAULTS | {"pad_token_id": 1})
    table = weights["encoder.relative_attention_bias.weight"]
    reach = source.max_tokens - 1
    distances = np.ascontiguousarray(table[_buckets(reach, len(table))].T)
    return lower_post_norm(source, weights, roberta_shape(source, config), NAMES, distances)


def _buckets(reach: int, count: int) -> list[int]:
    """Which row of the table stands for each distance from −reach to reach: exact when near, then ever coarser."""
    half = count // 2
    exact = half // 2
    distance = np.arange(-reach, reach + 1)
    far: Floats = np.maximum(np.abs(distance), 1).astype(np.float32)
    # In float32, as the model itself computes it: a logarithm that falls just short goes one bucket down.
    coarse = np.log(far / np.float32(exact)) / np.float32(np.log(FARTHEST / exact)) * np.float32(half - exact)
    bucket = np.where(np.abs(distance) < exact, np.abs(distance), exact + coarse.astype(np.int64))
    return list(np.minimum(bucket, half - 1) + np.where(distance > 0, half, 0))
