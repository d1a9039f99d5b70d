"""A folder with a model that listens to sounds: how its feature extractor makes them ready."""

from pathlib import Path
from typing import Any

from coldpress.errors import UnsupportedModel
from coldpress.intake.source import AudioModel, Options
from coldpress.intake.text import label_names
from coldpress_runtime.wav import HIGHEST_RATE, LOWEST_RATE

EXTRACTORS = ("preprocessor_config.json", "processor_config.json")
#: classes of transformers → what a model that has them hears
FEATURES = {
    "Wav2Vec2FeatureExtractor": "samples",
    "ASTFeatureExtractor": "kaldi",
    "WhisperFeatureExtractor": "whisper",
}


def describe_audio(common: dict[str, Any], config: dict[str, Any], options: Options) -> AudioModel:
    extractor, origin = load_extractor(common["folder"]), common["origin"]
    kind = type(extractor).__name__
    if kind not in FEATURES:
        raise UnsupportedModel(
            f"the feature extractor of {origin} is a {kind}; those that can be put into a graph are "
            f"{', '.join(FEATURES)}. Press the model with --task tensors, and send it what its extractor makes"
        )
    if getattr(extractor, "dither", 0.0):
        raise UnsupportedModel(
            f"the feature extractor of {origin} adds noise (dither {extractor.dither}), so no two answers are the "
            f"same: set it to 0 in {EXTRACTORS[0]}"
        )
    rate = int(extractor.sampling_rate)
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise UnsupportedModel(
            f"{origin} hears {rate} samples in a second; from {LOWEST_RATE} to {HIGHEST_RATE} can be made"
        )
    return AudioModel(
        **common,
        kind="transformers",
        rate=rate,
        features=FEATURES[kind],
        labels=label_names(config),
        # Whatever config.json says: transformers' own pipeline does not ask it, for sounds.
        function="softmax",
    )


def load_extractor(folder: Path) -> Any:
    if not any((folder / name).is_file() for name in EXTRACTORS):
        raise UnsupportedModel(
            f"{folder} has no {EXTRACTORS[0]}: nobody says how sounds are made ready for this model. "
            "Save its feature extractor there (extractor.save_pretrained(folder)), or press it with --task tensors"
        )
    from transformers import AutoFeatureExtractor

    try:
        return AutoFeatureExtractor.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise UnsupportedModel(f"transformers cannot open the feature extractor in {folder}: {error}") from error
