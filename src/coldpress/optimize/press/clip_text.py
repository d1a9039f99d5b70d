"""CLIP's text tower: norms before each part, and attention that looks back only."""

from types import SimpleNamespace

import numpy as np

from coldpress.intake.source import TextEncoder
from coldpress.optimize.press.file import EMBED, Op, PressFile
from coldpress.optimize.press.layers import Encoder, norm, refuse_sizes
from coldpress.optimize.press.pre_norm import Shape, add_layers
from coldpress.optimize.press.vision import CLIP
from coldpress.optimize.press.weights import Weights, read_config

DEFAULTS = {
    "hidden_size": 512,
    "intermediate_size": 2048,
    "num_hidden_layers": 12,
    "num_attention_heads": 8,
    "hidden_act": "quick_gelu",
    "layer_norm_eps": 1e-5,
}
#: what a score becomes that must not count; its exponential is nothing
_NEVER = np.float32(-1e9)


def lower_clip_text(source: TextEncoder, weights: Weights) -> Encoder:
    config = read_config(source.folder, {})
    shape = Shape.of(SimpleNamespace(**DEFAULTS | config.get("text_config", config)))
    refuse_sizes(source.origin, shape.width, shape.inner, shape.heads, shape.plain_activation)
    # Beside a picture tower it has a name of its own, alone it has none.
    text = Weights.of(weights.below("text_model.") or weights.below(""))
    words, positions = (text[f"embeddings.{part}_embedding.weight"] for part in ("token", "position"))
    file = PressFile(source.max_tokens, vocabulary=len(words))
    stream = file.buffer(shape.width)
    file.ops = [
        Op(EMBED, target=stream, outputs=shape.width, positions=len(positions), tensors=[words, None, positions])
    ]
    # By key − query: what comes later than a token is not seen by it.
    distances = np.zeros((shape.heads, 2 * source.max_tokens + 1), np.float32)
    distances[:, source.max_tokens + 1 :] = _NEVER
    add_layers(file, text, CLIP, shape, stream, distances)
    file.ops.append(norm(text, "final_layer_norm", stream, stream, shape.epsilon))
    return Encoder(file, stream, shape.width)
