"""A folder's model as named tensors: for what no task covers. Its inputs are made up from its config."""

from typing import Any

from coldpress.errors import UnsupportedModel
from coldpress.intake.live import describe_module
from coldpress.intake.source import Folder, LiveModule, Options

TOKENS, SAMPLES = 16, 16000


def describe_forward(common: dict[str, Any], config: dict[str, Any], options: Options) -> LiveModule:
    from coldpress.tasks.original import load_pretrained

    source = Folder(**common, kind="transformers")
    named = [str(name) for name in config.get("architectures") or ["AutoModel"]]
    model = load_pretrained(source, named[0], optional=("pooler",))
    inputs = options.inputs
    if inputs is None:
        inputs = {model.main_input_name: _example(model, config)}
    described = describe_module(model, options, inputs, origin=source.origin, kind="transformers")
    from dataclasses import replace

    return replace(described, name=source.name, architecture=source.architecture, files=source.files)


def _example(model: Any, config: dict[str, Any]) -> Any:
    """What the model's main input looks like, by what transformers calls it."""
    import torch

    name = model.main_input_name
    said = model.config
    if name == "pixel_values":
        size = getattr(said, "image_size", None) or 224
        height, width = size if isinstance(size, list | tuple) else (size, size)
        return torch.randn(1, getattr(said, "num_channels", 3), height, width)
    if name == "input_values":
        if hasattr(said, "num_mel_bins") and hasattr(said, "max_length"):
            return torch.randn(1, said.max_length, said.num_mel_bins)
        return torch.randn(1, SAMPLES)
    if name == "input_features":
        return torch.randn(1, said.num_mel_bins, 2 * getattr(said, "max_source_positions", 1500))
    if name == "input_ids":
        return torch.randint(1, getattr(said, "vocab_size", 100), (1, TOKENS))
    raise UnsupportedModel(f"{type(model).__name__} takes {name!r}, and nobody says what that is: --inputs FILE")
