"""DistilBERT: BERT with other names, and no token types."""

from coldpress.intake.source import TextEncoder
from coldpress.optimize.press.layers import Encoder
from coldpress.optimize.press.post_norm import Names, Shape, lower_post_norm
from coldpress.optimize.press.weights import Weights, read_config

DEFAULTS = {"dim": 768, "hidden_dim": 3072, "n_heads": 12, "n_layers": 6, "activation": "gelu"}
NAMES = Names(
    layer="transformer.layer.{}",
    query="attention.q_lin",
    key="attention.k_lin",
    value="attention.v_lin",
    out="attention.out_lin",
    out_norm="sa_layer_norm",
    up="ffn.lin1",
    down="ffn.lin2",
    down_norm="output_layer_norm",
    types=None,
)


def lower_distilbert(source: TextEncoder, weights: Weights) -> Encoder:
    config = read_config(source.folder, DEFAULTS)
    shape = Shape(
        width=config["dim"],
        inner=config["hidden_dim"],
        heads=config["n_heads"],
        layers=config["n_layers"],
        activation=config["activation"],
        epsilon=1e-12,  # not in its config: the family has one
    )
    return lower_post_norm(source, weights, shape, NAMES)
