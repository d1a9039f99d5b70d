"""Folders whose weights are pickles: read without running anything, and written again as safetensors."""

import shutil
from pathlib import Path
from typing import Any

from coldpress.cache import cached
from coldpress.errors import UnsupportedModel
from coldpress.intake.files import sha256
from coldpress.intake.tensors_file import state_dict


def with_safetensors(folder: Path) -> Path:
    """`folder`, or a copy of it in the cache with safetensors. A pickle that needs code is refused."""
    pickles = sorted(folder.glob("pytorch_model*.bin"))
    if any(folder.glob("model*.safetensors")) or not pickles:
        return folder
    key = [sha256(path) for path in sorted(folder.glob("*")) if path.is_file()]
    return cached("unpickled", key, lambda copy: _convert(folder, pickles, copy))


def _convert(folder: Path, pickles: list[Path], copy: Path) -> None:
    from safetensors.torch import save_file

    tensors: dict[str, Any] = {}
    for path in pickles:
        tensors |= state_dict(path)
    # Tensors that share their memory are written once each: safetensors holds no two names for one.
    whole = {name: tensor.clone().contiguous() for name, tensor in tensors.items()}
    if not whole:
        raise UnsupportedModel(f"{folder} has weights files without weights")
    save_file(whole, copy / "model.safetensors", metadata={"format": "pt"})
    for path in folder.iterdir():
        if path.suffix in (".json", ".txt", ".model"):
            shutil.copyfile(path, copy / path.name)
        elif path.is_dir() and (path / "config.json").is_file():
            shutil.copytree(path, copy / path.name)
