"""A folder as Hugging Face or sentence-transformers writes it."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from coldpress.errors import IntakeError, ModelNotFound, UnsupportedModel, UsageError
from coldpress.intake.source import POOLINGS, Dense, Options, TextEncoder

#: families whose position numbers start after the padding token's
OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet", "longformer")
UNBOUNDED = 1_000_000  # tokenizers without a limit say 10^30
DEFAULT_MAX_TOKENS = 512
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def describe_folder(folder: Path, origin: str, options: Options) -> TextEncoder:
    config = _config(folder)
    weights = _weights(folder)
    architecture = str(config.get("model_type", "unknown"))
    hidden = config.get("hidden_size") or config.get("dim") or config.get("d_model")
    if not isinstance(hidden, int):
        raise UnsupportedModel(
            f"{folder / 'config.json'} (model_type {architecture!r}) has no hidden_size: not a text encoder"
        )
    modules = _modules(folder)
    pooling, dense, normalize = modules if modules else (("mean",), (), False)
    if options.pooling is not None:
        pooling = _asked_pooling(options.pooling)
        normalize = normalize and bool(pooling)
        dense = dense if pooling else ()
    return TextEncoder(
        name=function_name(options.name, origin),
        origin=origin,
        kind="sentence-transformers" if modules else "transformers",
        task="embeddings",
        folder=folder,
        architecture=architecture,
        pooling=pooling,
        normalize=normalize,
        hidden_size=hidden,
        max_tokens=_max_tokens(folder, config, options.max_tokens),
        lowercase=bool(_optional_json(folder / "sentence_bert_config.json").get("do_lower_case", False)),
        weights_bytes=sum(path.stat().st_size for path in weights),
        files={
            path.relative_to(folder).as_posix(): _sha256(path)
            for path in sorted(
                [*weights, *folder.glob("*.json"), *folder.glob("*/config.json"), *folder.glob("*/*.safetensors")]
            )
        },
        dense=dense,
    )


def function_name(asked: str | None, origin: str) -> str:
    """The function's name; also a folder inside it, so only plain characters may stand in it."""
    if asked is not None:
        if not NAME.fullmatch(asked):
            raise UsageError(f"--name is {asked!r}; it takes 1 to 64 letters, digits, - and _")
        return asked
    last = re.split(r"[/:]", origin.partition("@")[0])[-1].lower()
    return re.sub(r"[^a-z0-9]+", "-", last).strip("-")[:64] or "model"


def _config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    if not path.is_file():
        raise ModelNotFound(f"{folder} has no config.json: not a folder that Hugging Face's tools wrote")
    config = _read_json(path)
    if not isinstance(config, dict):
        raise IntakeError(f"{path} must hold a JSON object, not {type(config).__name__}")
    return config


def _weights(folder: Path) -> list[Path]:
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


def _modules(folder: Path) -> tuple[tuple[str, ...], tuple[Dense, ...], bool] | None:
    """Pooling, dense layers and normalization as sentence-transformers' modules.json says; None without one."""
    path = folder / "modules.json"
    if not path.is_file():
        return None
    modules = _read_json(path)
    if not isinstance(modules, list):
        raise IntakeError(f"{path} must hold a list of modules")
    pooling: tuple[str, ...] = ()
    dense: tuple[Dense, ...] = ()
    normalize = False
    for module in sorted(modules, key=lambda module: int(module.get("idx", 0))):
        kind = str(module.get("type", "")).rsplit(".", 1)[-1]
        where = _inside(folder, str(module.get("path", "")))
        if kind == "Pooling" and not (dense or normalize):
            pooling = _pooling(where / "config.json")
        elif kind == "Dense" and pooling and not normalize:
            dense += (_dense(where),)
        elif kind == "Normalize" and pooling:
            normalize = True
        elif kind != "Transformer":
            raise UnsupportedModel(
                f"{path} uses the module {kind!r} at place {module.get('idx')}; "
                "what can be pressed is Transformer, then Pooling, then Dense, then Normalize"
            )
    if not pooling:
        raise UnsupportedModel(
            f"{path} has no Pooling module; ask for one with --pooling {'|'.join(POOLINGS[:2])}"
        )
    return pooling, dense, normalize


def _inside(folder: Path, path: str) -> Path:
    """`path` below `folder`; one that leads elsewhere is refused."""
    where = folder / path
    if not where.resolve().is_relative_to(folder.resolve()):
        raise IntakeError(f"{folder / 'modules.json'} points outside of its folder: {path!r}")
    return where


def _pooling(path: Path) -> tuple[str, ...]:
    config = _read_json(path)
    named = config.get("pooling_mode")
    if isinstance(named, str):
        modes = [named]
    elif isinstance(named, list):
        modes = [str(mode) for mode in named]
    else:
        flags = {
            "cls": "pooling_mode_cls_token",
            "max": "pooling_mode_max_tokens",
            "mean": "pooling_mode_mean_tokens",
            "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
            "weightedmean": "pooling_mode_weightedmean_tokens",
            "lasttoken": "pooling_mode_lasttoken",
        }
        modes = [mode for mode, flag in flags.items() if config.get(flag)]
    if not modes or any(mode not in POOLINGS for mode in modes):
        raise UnsupportedModel(f"{path} asks for the pooling {modes}; known are: {', '.join(POOLINGS)}")
    return tuple(modes)


def _dense(folder: Path) -> Dense:
    config = _read_json(folder / "config.json")
    inputs, outputs = config.get("in_features"), config.get("out_features")
    if not all(isinstance(size, int) and size > 0 for size in (inputs, outputs)):
        raise UnsupportedModel(f"{folder / 'config.json'} says no in_features and out_features")
    for key in ("module_input_name", "module_output_name"):
        if config.get(key) not in (None, "sentence_embedding"):
            raise UnsupportedModel(f"{folder / 'config.json'} works on {config[key]!r}, not on the pooled vector")
    activation = (
        str(config.get("activation_function", "torch.nn.modules.activation.Tanh")).rsplit(".", 1)[-1].lower()
    )
    _weights(folder)
    return Dense(folder, inputs, outputs, "linear" if activation == "identity" else activation)


def _asked_pooling(pooling: str) -> tuple[str, ...]:
    if pooling == "none":
        return ()
    if pooling not in POOLINGS:
        raise UsageError(f"--pooling is {pooling!r}; it can be: {', '.join(POOLINGS)}, none")
    return (pooling,)


def _max_tokens(folder: Path, config: dict[str, Any], asked: int | None) -> int:
    positions = config.get("max_position_embeddings")
    limit = positions if isinstance(positions, int) and positions > 0 else UNBOUNDED
    if config.get("model_type") in OFFSET_POSITIONS:
        limit -= 2
    if asked is not None:
        if not 3 <= asked <= limit:
            raise UsageError(f"--max-tokens is {asked}; this model takes from 3 to {limit}")
        return asked
    said = _optional_json(folder / "sentence_bert_config.json").get("max_seq_length")
    if not isinstance(said, int):
        said = _optional_json(folder / "tokenizer_config.json").get("model_max_length")
    if not isinstance(said, int) or said > UNBOUNDED:
        said = DEFAULT_MAX_TOKENS if limit == UNBOUNDED else limit
    return min(said, limit)


def _optional_json(path: Path) -> dict[str, Any]:
    content = _read_json(path) if path.is_file() else {}
    return content if isinstance(content, dict) else {}


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelNotFound(f"{path} is missing") from None
    except (ValueError, OSError) as error:
        raise IntakeError(f"{path} cannot be read as JSON: {error}") from None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
