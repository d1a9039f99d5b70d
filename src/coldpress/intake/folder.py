"""A folder as Hugging Face or sentence-transformers writes it."""

import re
from pathlib import Path
from typing import Any

from coldpress.errors import UsageError
from coldpress.intake.decide import decide
from coldpress.intake.files import read_config, sha256, weight_files
from coldpress.intake.pickled import with_safetensors
from coldpress.intake.source import Folder, LiveModule, Options

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def describe_folder(folder: Path, origin: str, options: Options) -> Folder | LiveModule:
    folder = with_safetensors(folder)
    config = read_config(folder)
    weights = weight_files(folder)
    architecture = str(config.get("model_type", "unknown"))
    common: dict[str, Any] = {
        "name": function_name(options.name, origin),
        "origin": origin,
        "task": decide(folder, origin, config, options.task),
        "folder": folder,
        "architecture": architecture,
        "ran": f"remote code of revision {options.revision}" if options.trust_remote_code else None,
        "weights_bytes": sum(path.stat().st_size for path in weights),
        "files": {
            path.relative_to(folder).as_posix(): sha256(path)
            for path in sorted(
                [*weights, *folder.glob("*.json"), *folder.glob("*/config.json"), *folder.glob("*/*.safetensors")]
            )
        },
    }
    if common["task"] == "tensors":
        from coldpress.intake.forward import describe_forward

        return describe_forward(common, config, options)
    if common["task"].startswith("image-"):
        from coldpress.intake.image import describe_image

        return describe_image(common, config, options)
    if common["task"].startswith("audio-"):
        from coldpress.intake.audio import describe_audio

        return describe_audio(common, config, options)
    from coldpress.intake.text import describe_text

    return describe_text(common, config, options)


def function_name(asked: str | None, origin: str) -> str:
    """The function's name; also a folder inside it, so only plain characters may stand in it."""
    if asked is not None:
        if not NAME.fullmatch(asked):
            raise UsageError(f"--name is {asked!r}; it takes 1 to 64 letters, digits, - and _")
        return asked
    last = re.split(r"[/:]", origin.partition("@")[0])[-1].lower()
    return re.sub(r"[^a-z0-9]+", "-", last).strip("-")[:64] or "model"
