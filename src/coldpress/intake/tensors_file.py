"""Files of tensors: weights, and example inputs. None of them runs code when it is opened."""

import pickle
import warnings
from pathlib import Path
from typing import Any

from coldpress.errors import IntakeError, ModelNotFound, UnsupportedModel, UsageError

FORMS = ".safetensors, .pt, .pth, .bin or .npz"


def load_tensors(path: Path) -> Any:
    """What a file holds: a dict of tensors, or whatever tuples, lists and dicts of tensors a .pt file has."""
    import torch

    if not path.is_file():
        raise ModelNotFound(f"there is no file {path}")
    ending = path.suffix.lower()
    try:
        if ending == ".safetensors":
            from safetensors.torch import load_file

            return load_file(path)
        if ending == ".npz":
            import numpy as np

            with np.load(path, allow_pickle=False) as arrays:
                return {name: torch.from_numpy(arrays[name]) for name in arrays.files}
        if ending in (".pt", ".pth", ".bin"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of old pickles: what they need is refused, or is not needed
                return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise UnsupportedModel(refusal(path, error)) from None
    except Exception as error:
        raise IntakeError(f"{path} cannot be read as tensors: {type(error).__name__}: {_first(error)}") from error
    raise UsageError(f"{path} is no file of tensors: it can be {FORMS}")


def refusal(path: Path, error: BaseException) -> str:
    """Why a pickle is not opened, and what to do instead."""
    return (
        f"{path} is a pickle that needs code to load, and that code could be anything ({_first(error)}). "
        "Where you trust it, load it yourself and save the weights alone: "
        "safetensors.torch.save_file(model.state_dict(), 'model.safetensors')"
    )


def state_dict(path: Path) -> dict[str, Any]:
    """Weights by name; what training saves beside them is looked through."""
    import torch

    content = load_tensors(path)
    for key in ("state_dict", "model_state_dict", "model_state", "model"):
        inner = content.get(key) if isinstance(content, dict) else None
        if isinstance(inner, dict):
            content = inner
    if not isinstance(content, dict) or not content:
        raise UnsupportedModel(f"{path} holds a {type(content).__name__}, not weights by name")
    odd = [str(name) for name, value in content.items() if not isinstance(value, torch.Tensor)]
    if odd:
        raise UnsupportedModel(f"{path} holds more than weights: {', '.join(odd[:5])}")
    return {str(name): tensor for name, tensor in content.items()}


def _first(error: BaseException) -> str:
    """The part of an error that says what was met; torch's own goes on for a page."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "GLOBAL" in line or "global" in line]
    return (telling or lines or [type(error).__name__])[0][:200]
