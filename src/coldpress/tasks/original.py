"""A model of transformers, in fp32. Only safetensors are opened; a folder's code runs only if asked for."""

from typing import Any

import torch

from coldpress.errors import UnsupportedModel
from coldpress.intake.source import Folder


def load_pretrained(source: Folder, auto: str, optional: tuple[str, ...] = ()) -> Any:
    """`auto` is the class of transformers that finds the model's own, or that class itself.

    A layer that the weights do not have would be made up by transformers; that is refused. Only `optional` ones
    are passed over, and named in the model's `made_up`.
    """
    import transformers
    from safetensors import SafetensorError
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        model: Any
        model, loading = getattr(transformers, auto).from_pretrained(
            source.folder,
            dtype=torch.float32,
            # One matrix product after another: what a graph optimizer understands best.
            attn_implementation="eager",
            use_safetensors=True,
            trust_remote_code=source.ran is not None,
            local_files_only=True,
            output_loading_info=True,
        )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        if "trust_remote_code" in str(error):
            raise UnsupportedModel(
                f"{source.origin} brings code of its own for {source.architecture!r}, which is not run unasked. "
                "Where you trust it: --trust-remote-code with --revision, the 40 digits of a commit"
            ) from None
        raise UnsupportedModel(
            f"transformers cannot open {source.folder} (model_type {source.architecture!r}): {error}"
        ) from error
    missing = sorted(loading["missing_keys"])
    model.made_up = {word for word in optional if any(word in name for name in missing)}
    lost = [name for name in missing if not any(word in name for word in optional)]
    if lost:
        raise UnsupportedModel(
            f"the weights of {source.origin} have no {', '.join(lost[:3])}{' …' if len(lost) > 3 else ''}, which "
            f"{source.task} needs: it would be made up at random. --task says what the model is for"
        )
    return model
