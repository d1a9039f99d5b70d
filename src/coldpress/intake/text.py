"""A folder with a model that reads text: how it pools, what its labels are, how long a text may be."""

from pathlib import Path
from typing import Any

from coldpress.errors import IntakeError, UnsupportedModel, UsageError
from coldpress.intake.files import optional_json, read_json, weight_files
from coldpress.intake.source import POOLINGS, Dense, Options, TextEncoder

#: families whose position numbers start after the padding token's
OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet", "longformer")
UNBOUNDED = 1_000_000  # tokenizers without a limit say 10^30
DEFAULT_MAX_TOKENS = 512
#: sizes of vocabularies, for families whose config leaves out what is usual
VOCABULARIES = {"bert": 30522, "distilbert": 30522, "electra": 30522, "albert": 30000, "mpnet": 30527}
#: kinds of parts that a text may have, for families whose config leaves out what is usual
TYPES = dict.fromkeys(("albert", "bert", "big_bird", "convbert", "electra", "mobilebert", "squeezebert"), 2)
#: families of encoder and decoder whose encoder stands alone
ENCODERS = ("t5", "mt5", "umt5")


def describe_text(common: dict[str, Any], config: dict[str, Any], options: Options) -> TextEncoder:
    """`common` is what any folder's description has."""
    folder, architecture, task = common["folder"], common["architecture"], common["task"]
    clip = architecture in ("clip", "clip_text_model")
    projection = _projection(config) if clip else 0
    config = config | config.get("text_config", {}) if clip else config
    hidden = config.get("hidden_size") or config.get("dim") or config.get("d_model") or config.get("n_embd")
    if not isinstance(hidden, int):
        raise UnsupportedModel(
            f"{folder / 'config.json'} (model_type {architecture!r}) has no hidden_size: not a text encoder"
        )
    modules = _modules(folder) if task == "embeddings" else None
    usual = ("lasttoken" if clip else "mean",) if task == "embeddings" else ()
    pooling, dense, normalize = modules if modules else (usual, (), False)
    if options.pooling is not None:
        if task != "embeddings":
            raise UsageError(f"--pooling is for embeddings; the task of {common['origin']} is {task}")
        pooling = _asked_pooling(options.pooling)
        normalize = normalize and bool(pooling)
        dense = dense if pooling else ()
    prompts, prompt = _prompts(folder) if modules else ({}, None)
    labels = label_names(config) if task in ("text-classification", "token-classification", "reranking") else ()
    return TextEncoder(
        **common,
        kind="sentence-transformers" if modules else "transformers",
        pooling=pooling,
        normalize=normalize,
        hidden_size=hidden,
        max_tokens=_max_tokens(folder, config, options.max_tokens),
        lowercase=bool(optional_json(folder / "sentence_bert_config.json").get("do_lower_case", False)),
        dense=dense,
        prompts=prompts,
        prompt=prompt,
        token_types=_whole(config.get("type_vocab_size"), TYPES.get(architecture, 0)),
        vocabulary=_whole(config.get("vocab_size"), VOCABULARIES.get(architecture, 0)),
        labels=labels,
        function=_function(config, task, len(labels)),
        projection=projection if pooling == ("lasttoken",) else 0,
        encoder_only=architecture in ENCODERS,
    )


def _prompts(folder: Path) -> tuple[dict[str, str], str | None]:
    """What stands before texts, as sentence-transformers has it: by name, and which is the usual one."""
    path = folder / "config_sentence_transformers.json"
    said = optional_json(path)
    named = said.get("prompts")
    prompts = {str(name): str(text) for name, text in named.items() if text} if isinstance(named, dict) else {}
    usual = said.get("default_prompt_name")
    if usual is not None and not (isinstance(named, dict) and usual in named):
        raise IntakeError(f"{path} has the default prompt {usual!r}, and no such prompt")
    return prompts, usual if usual in prompts else None


def _projection(config: dict[str, Any]) -> int:
    """How wide CLIP's vectors of texts are beside those of pictures; 0 for its text model alone."""
    named = [str(name) for name in config.get("architectures") or []]
    if not any(name.endswith(("WithProjection", "CLIPModel")) for name in named):
        return 0
    return _whole(config.get("projection_dim"), 512)


def label_names(config: dict[str, Any]) -> tuple[str, ...]:
    """Names by number; without any, as transformers calls them. It takes two where nothing is said."""
    said = config.get("id2label")
    if isinstance(said, dict) and said:
        try:
            return tuple(str(said[key]) for key in sorted(said, key=int))
        except ValueError:
            raise IntakeError(f"id2label in config.json has keys that are no numbers: {list(said)[:5]}") from None
    return tuple(f"LABEL_{at}" for at in range(_whole(config.get("num_labels"), 2)))


def _function(config: dict[str, Any], task: str, labels: int) -> str:
    """What makes scores of a classifier's numbers, as transformers and sentence-transformers decide it."""
    if task == "reranking":
        own = config.get("sentence_transformers")
        said = own.get("activation_fn") if isinstance(own, dict) else None
        said = said or config.get("sbert_ce_default_activation_function") or "Sigmoid"
        kind = str(said).rsplit(".", 1)[-1].lower()
        if kind not in ("identity", "sigmoid"):
            raise UnsupportedModel(f"config.json asks for the activation {said!r}; known are Sigmoid and Identity")
        return "none" if kind == "identity" else "sigmoid"
    return classifier_function(config, labels) if task == "text-classification" else "none"


def classifier_function(config: dict[str, Any], labels: int) -> str:
    problem = config.get("problem_type")
    if problem == "regression":
        return "none"
    return "sigmoid" if problem == "multi_label_classification" or labels == 1 else "softmax"


def _whole(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def _modules(folder: Path) -> tuple[tuple[str, ...], tuple[Dense, ...], bool] | None:
    """Pooling, dense layers and normalization as sentence-transformers' modules.json says; None without one."""
    path = folder / "modules.json"
    if not path.is_file():
        return None
    modules = read_json(path)
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
    config = read_json(path)
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
    config = read_json(folder / "config.json")
    inputs, outputs = config.get("in_features"), config.get("out_features")
    if not all(isinstance(size, int) and size > 0 for size in (inputs, outputs)):
        raise UnsupportedModel(f"{folder / 'config.json'} says no in_features and out_features")
    for key in ("module_input_name", "module_output_name"):
        if config.get(key) not in (None, "sentence_embedding"):
            raise UnsupportedModel(f"{folder / 'config.json'} works on {config[key]!r}, not on the pooled vector")
    activation = (
        str(config.get("activation_function", "torch.nn.modules.activation.Tanh")).rsplit(".", 1)[-1].lower()
    )
    weight_files(folder)
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
    said = optional_json(folder / "sentence_bert_config.json").get("max_seq_length")
    if not isinstance(said, int):
        said = optional_json(folder / "tokenizer_config.json").get("model_max_length")
    if not isinstance(said, int) or said > UNBOUNDED:
        said = DEFAULT_MAX_TOKENS if limit == UNBOUNDED else limit
    return min(said, limit)
