"""A folder's safetensors and its whole config, by name."""

from pathlib import Path
from typing import Any

import numpy as np

from coldpress.errors import UnsupportedModel
from coldpress.optimize.press.file import Floats

# Heads save the encoder below a name of its own.
_PREFIXES = ("", "bert.", "distilbert.", "roberta.", "electra.", "albert.")
_OLD_NAMES = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}


class Weights:
    def __init__(self, folder: Path) -> None:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        self._tensors: dict[str, Any] = {}
        for path in sorted(folder.glob("model*.safetensors")):
            try:
                self._tensors |= load_file(path)
            except (SafetensorError, OSError) as error:
                raise UnsupportedModel(f"safetensors cannot open {path}: {error}") from None

    def __getitem__(self, name: str) -> Floats:
        names = [name]
        for new, old in _OLD_NAMES.items():
            if name.endswith(new):
                names.append(name.removesuffix(new) + old)
        for prefix in _PREFIXES:
            for candidate in names:
                if f"{prefix}{candidate}" in self._tensors:
                    values: Floats = self._tensors[f"{prefix}{candidate}"].astype(np.float32)
                    return values
        raise UnsupportedModel(f"the weights have no tensor called {name}")

    def optional(self, name: str) -> Floats | None:
        return self[name] if any(f"{prefix}{name}" in self._tensors for prefix in _PREFIXES) else None


def full_config(folder: Path) -> dict[str, Any]:
    """The config with every default that its family has: files on disk leave them out."""
    from transformers import AutoConfig

    try:
        config: dict[str, Any] = AutoConfig.from_pretrained(
            folder, trust_remote_code=False, local_files_only=True
        ).to_dict()
    except (OSError, ValueError, KeyError) as error:
        raise UnsupportedModel(f"transformers cannot read {folder / 'config.json'}: {error}") from None
    return config
