"""A model of transformers, opened in fp32. Only safetensors are opened, and no code from the folder is run."""

from typing import Any

import torch

from coldpress.errors import UnsupportedModel
from coldpress.intake.source import Folder


def load_pretrained(source: Folder, auto: str) -> Any:
    """`auto` is the class of transformers that finds the model's own."""
    import transformers
    from safetensors import SafetensorError
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        model: Any = getattr(transformers, auto).from_pretrained(
            source.folder,
            dtype=torch.float32,
            # One matrix product after another: what a graph optimizer understands best.
            attn_implementation="eager",
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
        )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise UnsupportedModel(
            f"transformers cannot open {source.folder} (model_type {source.architecture!r}): {error}"
        ) from error
    return model
