"""A folder's safetensors and its config, by name."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from coldpress.errors import UnsupportedModel
from coldpress.optimize.press.file import Floats

# Heads save the encoder below a name of its own.
_PREFIXES = ("", "bert.", "distilbert.", "roberta.", "electra.", "albert.", "mpnet.", "model.")
_PICTURE_PREFIXES = ("vit.", "deit.", "dinov2.", "vision_model.")
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

    @classmethod
    def of(cls, tensors: dict[str, Any]) -> "Weights":
        """Those of a model that is open already."""
        made = cls.__new__(cls)
        made._tensors = tensors
        return made

    def below(self, prefix: str) -> dict[str, Any]:
        """What stands below a name, by the rest of its name."""
        return {
            name.removeprefix(prefix): value for name, value in self._tensors.items() if name.startswith(prefix)
        }

    def __getitem__(self, name: str) -> Floats:
        found = self.optional(name)
        if found is None:
            raise UnsupportedModel(f"the weights have no tensor called {name}")
        return found

    def optional(self, name: str) -> Floats | None:
        names = [name]
        for new, old in _OLD_NAMES.items():
            if name.endswith(new):
                names.append(name.removesuffix(new) + old)
        for prefix in (*_PREFIXES, *_PICTURE_PREFIXES):
            for candidate in names:
                if f"{prefix}{candidate}" in self._tensors:
                    values: Floats = self._tensors[f"{prefix}{candidate}"].astype(np.float32)
                    return values
        return None


def read_config(folder: Path, defaults: dict[str, Any]) -> dict[str, Any]:
    """The folder's config over its family's defaults: files on disk leave them out."""
    config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return defaults | config
