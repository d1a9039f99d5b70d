"""What a folder's model is for, by what its config and its files say."""

from pathlib import Path
from typing import Any

from coldpress.errors import UnsupportedModel, UsageError
from coldpress.intake.files import optional_json

#: tasks that a person may ask for by name
TASKS = (
    "embeddings",
    "text-classification",
    "token-classification",
    "reranking",
    "question-answering",
    "fill-mask",
    "image-classification",
    "image-embeddings",
    "audio-classification",
    "tensors",
)

#: how the class of a model ends → its task
HEADS = {
    "ForSequenceClassification": "text-classification",
    "ForTokenClassification": "token-classification",
    "ForQuestionAnswering": "question-answering",
    "ForMaskedLM": "fill-mask",
    "ForImageClassification": "image-classification",
    "ForImageClassificationWithTeacher": "image-classification",
    "ForAudioClassification": "audio-classification",
    "ForPreTraining": "embeddings",
}
#: what says how pictures are made ready
IMAGE_FILES = ("preprocessor_config.json", "processor_config.json")
#: families that listen; the classifiers of some are named like those of texts
LISTENERS = (
    *("wav2vec2", "wav2vec2-bert", "wav2vec2-conformer", "hubert", "wavlm", "unispeech", "unispeech-sat", "sew"),
    *("sew-d", "data2vec-audio", "audio-spectrogram-transformer", "whisper"),
)
#: how the class of a model ends that makes text one token after the other
GENERATES = (
    "ForCausalLM",
    "LMHeadModel",
    "ForConditionalGeneration",
    "ForSpeechSeq2Seq",
    "ForCTC",
    "ForImageTextToText",
    "ForSeq2SeqLM",
)


def decide(folder: Path, origin: str, config: dict[str, Any], asked: str | None) -> str:
    if asked is not None:
        if asked not in TASKS:
            raise UsageError(f"--task is {asked!r}; it can be: {', '.join(TASKS)}")
        return asked
    if (folder / "modules.json").is_file():
        return "embeddings"
    named = config.get("architectures")
    classes = [str(name) for name in named] if isinstance(named, list) else []
    for name in classes:
        if name.endswith(GENERATES):
            raise UnsupportedModel(
                f"{origin} is a {name}, which generates, piece by piece; that is not served. What can be done: "
                f"{_instead(name)}, or code of your own around it (coldpress init)"
            )
        for ending, task in HEADS.items():
            if name.endswith(ending) and task == "text-classification":
                return "audio-classification" if _listens(folder, config) else _reranker(origin, config)
            if name.endswith(ending):
                return task
    if any("For" in name for name in classes) or _listens(folder, config):
        return "tensors"  # a head that no task knows: segments, boxes, depth; or what is heard, as vectors
    return "image-embeddings" if _looks(folder, config) else "embeddings"


def _looks(folder: Path, config: dict[str, Any]) -> bool:
    """Whether a model without a head looks at pictures: it has a processor for them and no words of its own."""
    reads = "vocab_size" in config or (folder / "tokenizer.json").is_file()
    return not reads and any((folder / name).is_file() for name in IMAGE_FILES)


def _instead(name: str) -> str:
    if any(word in name for word in ("CTC", "Whisper", "Speech")):
        return "its encoder as named tensors (--task tensors)"
    return "its encoder, or a decoder's vectors, as embeddings (--task embeddings)"


def _listens(folder: Path, config: dict[str, Any]) -> bool:
    """By its family, or because what makes its inputs ready asks for a sampling rate."""
    ready = optional_json(folder / IMAGE_FILES[0])
    return config.get("model_type") in LISTENERS or "sampling_rate" in ready


def _reranker(origin: str, config: dict[str, Any]) -> str:
    """A classifier of one label scores pairs if it says so: sentence-transformers leaves a mark, names speak."""
    labels = config.get("id2label")
    one = isinstance(labels, dict) and len(labels) == 1
    marked = "sentence_transformers" in config or "sbert_ce_default_activation_function" in config
    named = any(word in origin.lower() for word in ("rerank", "cross-encoder", "ms-marco"))
    return "reranking" if one and (marked or named) else "text-classification"
