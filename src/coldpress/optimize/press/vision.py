"""ViT, DeiT, DINOv2 and CLIP's picture tower: patches are tokens, and embedding them is a linear layer on bytes.

What a processor does last, a multiplication and an addition per channel, is part of that layer's weights: the
engine reads pixels as they were decoded. Weights come from the opened model, so that files written by any version
of transformers are understood.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from coldpress.errors import UnsupportedModel
from coldpress.intake.source import ImageModel
from coldpress.optimize.press.file import PATCHES, POOL, POOLS, Floats, Op, PressFile, linear
from coldpress.optimize.press.layers import named_linear, norm, refuse, refuse_sizes
from coldpress.optimize.press.pre_norm import Names, Shape, add_layers
from coldpress.optimize.press.weights import Weights

_VIT = Names(layer="layers.{}")
_DINO = Names(
    layer="encoder.layer.{}",
    before="norm1",
    after="norm2",
    scale=("layer_scale1.lambda1", "layer_scale2.lambda1"),
)
CLIP = Names(
    layer="encoder.layers.{}",
    query="self_attn.q_proj",
    key="self_attn.k_proj",
    value="self_attn.v_proj",
    out="self_attn.out_proj",
    before="layer_norm1",
    after="layer_norm2",
)


@dataclass(frozen=True)
class Ends:
    """What comes before a family's layers and after them: embedding patches, a norm perhaps, and a last norm."""

    patch: str = "embeddings.patch_embeddings.projection"
    first: str | None = None
    last: str = "layernorm"


_CLIP_ENDS = Ends("embeddings.patch_embedding", "pre_layrnorm", "post_layernorm")
FAMILIES = {
    "vit": (_VIT, Ends()),
    "deit": (_VIT, Ends()),
    "dinov2": (_DINO, Ends()),
    "clip": (CLIP, _CLIP_ENDS),
    "clip_vision_model": (CLIP, _CLIP_ENDS),
}
#: classes of transformers whose answer is more than a layer on the first token's vector
_OTHER_HEADS = ("DeiTForImageClassificationWithTeacher", "Dinov2ForImageClassification")


def lower_vision(source: ImageModel, model: Any, pooled: bool) -> PressFile:
    """The whole model in floats. `model` is transformers' own; `pooled` says whether its pooler has weights."""
    if source.architecture not in FAMILIES:
        raise UnsupportedModel(
            f"of models that look at pictures the press engine knows {', '.join(FAMILIES)}, "
            f"not {source.architecture!r}"
        )
    names, ends = FAMILIES[source.architecture]
    config = getattr(model.config, "vision_config", model.config)
    shape = Shape.of(config)
    width = shape.width
    refuse_sizes(source.origin, width, shape.inner, shape.heads, shape.plain_activation)
    refuse(
        source.origin,
        {
            "its head is of a kind of its own": type(model).__name__ in _OTHER_HEADS,
            "its layers are gated": getattr(config, "use_swiglu_ffn", False),
        },
    )
    weights = Weights.of({name: tensor.numpy() for name, tensor in model.state_dict().items()})
    table, special = _table(model, source, config.patch_size)
    patch, bias = _patch_layer(source, weights, ends.patch)
    own = weights.optional(f"{ends.patch}.bias")
    if own is not None:  # the layer adds it, and what the processor adds with it
        table[special:] -= own
    table[:special] -= bias
    file = PressFile(max_tokens=len(table), vocabulary=1)
    pixels, rows, stream = map(file.buffer, (patch.shape[1], width, width))
    file.ops = [
        Op(
            PATCHES,
            target=pixels,
            residual=rows,
            outputs=patch.shape[1],
            first_position=special,
            positions=source.size[1] // config.patch_size,
            window=config.patch_size,
            tensors=[table],
        ),
        linear(patch, bias, source=pixels, target=stream, residual=rows),
    ]
    if ends.first:
        file.ops.append(norm(weights, ends.first, stream, stream, shape.epsilon))
    add_layers(file, weights, names, shape, stream, in_bytes=True)
    file.ops.append(norm(weights, ends.last, stream, stream, shape.epsilon))
    answer = file.buffer(width)
    file.ops.append(Op(POOL, activation=POOLS["cls"], source=stream, target=answer, inputs=width))
    file.dimensions = _head(source, weights, file, answer, pooled)
    return file


def _table(model: Any, source: ImageModel, edge: int) -> tuple[Floats, int]:
    """What the model adds to each token, asked of itself with a picture of nothing; and how many are no patch."""
    import torch

    height, width = source.size
    refuse(
        source.origin,
        {f"{width} × {height} pixels are not full of patches of {edge}": height % edge or width % edge},
    )
    (embeddings,) = [part for name, part in model.named_modules() if name.rpartition(".")[2] == "embeddings"][:1]
    with torch.inference_mode():
        made = embeddings(torch.zeros(1, 3, height, width))[0]
    return made.numpy().copy(), len(made) - (height // edge) * (width // edge)


def _patch_layer(source: ImageModel, weights: Weights, name: str) -> tuple[Floats, Floats]:
    """The convolution over patches as a layer on their bytes, row by row, red, green and blue side by side."""
    kernel = weights[f"{name}.weight"]
    outputs, _, high, wide = kernel.shape
    layer = np.zeros((outputs, high, wide, 3), np.float32)
    bias = weights.optional(f"{name}.bias")
    total = np.zeros(outputs, np.float64) if bias is None else bias.astype(np.float64)
    for place, colour in enumerate(source.channels):
        layer[..., colour] += kernel[:, place] * np.float32(source.scale[place])
        total += kernel[:, place].astype(np.float64).sum(axis=(1, 2)) * source.shift[place]
    flat = layer.reshape(outputs, -1)
    return np.pad(flat, ((0, 0), (0, -flat.shape[1] % 16))), total.astype(np.float32)


def _head(source: ImageModel, weights: Weights, file: PressFile, answer: int, pooled: bool) -> int:
    """What comes after the first token's vector; returns how many numbers the answer has."""
    if source.task == "image-classification":
        return _last(weights, file, "classifier", answer)
    if weights.optional("visual_projection.weight") is not None:
        return _last(weights, file, "visual_projection", answer)
    if pooled and weights.optional("pooler.dense.weight") is not None:
        target = file.buffer(file.widths[answer])
        file.ops.append(named_linear(weights, "pooler.dense", source=answer, target=target, activation="tanh"))
    return file.widths[answer]


def _last(weights: Weights, file: PressFile, name: str, answer: int) -> int:
    count = len(weights[f"{name}.weight"])
    file.ops.append(named_linear(weights, name, source=answer, target=file.buffer(-(-count // 16) * 16)))
    return count
