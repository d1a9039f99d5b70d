"""Hugging Face's hub: fetch a model's files, and only those that are data."""

from pathlib import Path

from coldpress.errors import MissingExtra, ModelNotFound
from coldpress.intake.web import check_address

# Weights come as safetensors; pickles stay where they are.
DATA_FILES = ["*.json", "*.txt", "*.model", "*.safetensors", "*/*.json", "*/*.safetensors"]


def download(model: str, revision: str | None, code: bool = False) -> tuple[Path, str]:
    """The folder that holds `model`, from the cache or from the hub, and its exact origin."""
    try:
        from huggingface_hub import constants, snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, RepositoryNotFoundError
    except ImportError:
        raise MissingExtra("export", "huggingface_hub", f"fetching {model} from the hub") from None
    check_address(constants.ENDPOINT)
    at = f"{model}@{revision}" if revision else model
    try:
        wanted = [*DATA_FILES, "*.py"] if code else DATA_FILES
        folder = Path(snapshot_download(model, revision=revision, allow_patterns=wanted))
    except RepositoryNotFoundError:
        raise ModelNotFound(
            f"neither a folder nor a model on the hub is called {model!r} "
            "(a private one needs `hf auth login` first)"
        ) from None
    except LocalEntryNotFoundError:
        raise ModelNotFound(
            f"{at} is not in the hub's cache and the hub cannot be reached: "
            "check the network, unset HF_HUB_OFFLINE, or give a folder"
        ) from None
    except (HfHubHTTPError, OSError, ValueError) as error:
        raise ModelNotFound(f"{at} could not be fetched from the hub: {error}") from None
    return folder, f"{model}@{folder.name}"
