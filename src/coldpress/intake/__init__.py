"""Intake: find a model and describe it. Whatever a person has comes out as one `Source`."""

import re
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from coldpress.errors import ModelNotFound
from coldpress.intake.source import Options, Source

__all__ = ["Options", "Source", "find"]

_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")


def find(model: Any, options: Options) -> AbstractContextManager[Source]:
    """Find `model`: a folder, a hub id, `demo:NAME`, or a live model. Valid inside the `with`."""
    if not isinstance(model, str | Path):
        from coldpress.intake.live import describe_live

        return describe_live(model, options)
    from coldpress.intake.folder import describe_folder

    text = str(model)
    if text.startswith("demo:"):
        from coldpress.intake.demo import demo_folder

        return nullcontext(describe_folder(demo_folder(text), text, options))
    if Path(text).is_dir():
        return nullcontext(describe_folder(Path(text), Path(text).resolve().name, options))
    if isinstance(model, str) and _HUB_ID.fullmatch(text) and not text.startswith("."):
        from coldpress.intake.hub import download

        folder, origin = download(text, options.revision)
        return nullcontext(describe_folder(folder, origin, options))
    what = "a file" if Path(text).exists() else "not there"
    raise ModelNotFound(
        f"no model at {text!r}: it is {what}. Give a folder with config.json and weights, "
        "a hub id such as sentence-transformers/all-MiniLM-L6-v2, or demo:minilm"
    )
