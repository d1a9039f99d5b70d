"""The original model with pooling and normalization on top: what is exported, and what is the truth."""

import torch
from torch import Tensor, nn

from coldpress.errors import UnsupportedModel
from coldpress.intake.source import TextEncoder
from coldpress.tasks.original import load_pretrained


class Encoder(nn.Module):
    """Token ids in, one vector per text out (or one per token, without pooling). Texts are of one length."""

    def __init__(self, model: nn.Module, pooling: tuple[str, ...], dense: nn.Sequential, normalize: bool) -> None:
        super().__init__()
        self.model = model
        self.pooling = pooling
        self.dense = dense
        self.normalize = normalize

    def forward(self, input_ids: Tensor) -> Tensor:
        hidden: Tensor = self.model(input_ids=input_ids).last_hidden_state
        if not self.pooling:
            return hidden
        pooled = torch.cat([_pool(mode, hidden) for mode in self.pooling], dim=-1)
        if len(self.dense):  # as a text of one token: the exporter then writes these layers as it does all others
            pooled = self.dense(pooled.unsqueeze(1)).squeeze(1)
        return nn.functional.normalize(pooled, dim=-1) if self.normalize else pooled


def _pool(mode: str, hidden: Tensor) -> Tensor:
    if mode == "cls":
        return hidden[:, 0]
    if mode == "max":
        return hidden.amax(dim=1)
    if mode == "lasttoken":
        return hidden[:, -1]
    if mode == "weightedmean":
        weights = torch.arange(1, hidden.shape[1] + 1).to(hidden.dtype).view(1, -1, 1)
        return (hidden * weights).sum(dim=1) / weights.sum(dim=1)
    if mode == "mean_sqrt_len_tokens":
        length = torch.ones_like(hidden[:1, :, :1]).sum(dim=1)
        return hidden.sum(dim=1) / length.sqrt()
    return hidden.mean(dim=1)


def load_encoder(source: TextEncoder) -> Encoder:
    if source.architecture in ("clip", "clip_text_model"):
        return _load_clip(source)
    model = load_pretrained(
        source, "AutoModelForTextEncoding" if source.encoder_only else "AutoModel", ("pooler",)
    )
    if getattr(model.config, "is_encoder_decoder", False) and not source.encoder_only:
        raise UnsupportedModel(
            f"{source.architecture} is a sequence-to-sequence model; what can be pressed is a text encoder"
        )
    return Encoder(model, source.pooling, _dense(source), source.normalize).eval()


def _load_clip(source: TextEncoder) -> Encoder:
    """The text tower, and the layer that brings its vectors beside those of pictures."""
    if not source.projection:
        model = load_pretrained(source, "CLIPTextModel")
        return Encoder(model, source.pooling, nn.Sequential(), source.normalize).eval()
    both = load_pretrained(source, "CLIPModel" if source.architecture == "clip" else "CLIPTextModelWithProjection")
    return Encoder(both.text_model, source.pooling, nn.Sequential(both.text_projection), source.normalize).eval()


ACTIVATIONS = {
    "linear": nn.Identity,
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "sigmoid": nn.Sigmoid,
}


def _dense(source: TextEncoder) -> nn.Sequential:
    """The layers between pooling and normalization, one after the other."""
    from safetensors.torch import load_file

    layers: list[nn.Module] = []
    for dense in source.dense:
        if dense.activation not in ACTIVATIONS:
            raise UnsupportedModel(
                f"{dense.folder} has the activation {dense.activation!r}; known are: {', '.join(ACTIVATIONS)}"
            )
        tensors = load_file(dense.folder / "model.safetensors")
        layer = nn.Linear(dense.inputs, dense.outputs, bias="linear.bias" in tensors)
        layer.load_state_dict({name.removeprefix("linear."): tensor for name, tensor in tensors.items()})
        layers += [layer.float(), ACTIVATIONS[dense.activation]()]
    return nn.Sequential(*layers)
