"""A model's folder, read with care: its JSON, its weights, its hashes."""

import hashlib
import json
from pathlib import Path
from typing import Any

from coldpress.errors import IntakeError, ModelNotFound, UnsupportedModel


def read_config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    if not path.is_file():
        raise ModelNotFound(f"{folder} has no config.json: not a folder that Hugging Face's tools wrote")
    config = read_json(path)
    if not isinstance(config, dict):
        raise IntakeError(f"{path} must hold a JSON object, not {type(config).__name__}")
    return config


def weight_files(folder: Path) -> list[Path]:
    found = sorted(folder.glob("model*.safetensors"))
    if found:
        return found
    pickles = sorted(path.name for path in folder.glob("pytorch_model*.bin"))
    if pickles:
        raise UnsupportedModel(
            f"{folder} has its weights only as a pickle ({', '.join(pickles)}), which may run code when opened; "
            "save it again with model.save_pretrained(folder, safe_serialization=True)"
        )
    raise ModelNotFound(f"{folder} has a config.json and no weights: there is no model*.safetensors in it")


def optional_json(path: Path) -> dict[str, Any]:
    content = read_json(path) if path.is_file() else {}
    return content if isinstance(content, dict) else {}


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelNotFound(f"{path} is missing") from None
    except (ValueError, OSError) as error:
        raise IntakeError(f"{path} cannot be read as JSON: {error}") from None


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
