"""A model that lives in this process: a sentence-transformers object, or a transformers module.

It is written to a temporary folder in its own library's format and read back from there, so that a
model in a notebook and the same model on disk go through one door.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from coldpress.errors import UnsupportedModel, UsageError
from coldpress.intake.folder import describe_folder
from coldpress.intake.source import Options, Source


@contextmanager
def describe_live(model: Any, options: Options) -> Iterator[Source]:
    with tempfile.TemporaryDirectory(prefix="coldpress-live-") as folder:
        _save(model, options.tokenizer, folder)
        yield describe_folder(Path(folder), type(model).__name__, options)


def _save(model: Any, tokenizer: Any, folder: str) -> None:
    kind = type(model).__name__
    if _is_a(model, "SentenceTransformer"):
        model.save(folder, create_model_card=False)
    elif _is_a(model, "PreTrainedModel"):
        if tokenizer is None:
            raise UsageError(f"a {kind} does not know its tokenizer: build(model, tokenizer=…)")
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    elif _is_a(model, "Module"):
        raise UnsupportedModel(
            f"{kind} is a plain nn.Module: what is pressed so far are text encoders, given as a "
            "sentence-transformers object or a transformers model with its tokenizer"
        )
    else:
        raise UsageError(f"build() takes a path, a hub id or a model, not a {kind}")


def _is_a(model: object, name: str) -> bool:
    """Whether a class of that name is among the model's; asked by name, so that nothing is imported."""
    return any(base.__name__ == name for base in type(model).__mro__)
