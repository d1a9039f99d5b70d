"""Sounds, against transformers itself."""

import base64
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from lambda_events import api_gateway_v1, function_url, load_balancer
from scipy import signal  # type: ignore[import-untyped]

import coldpress
from coldpress.artifact import Artifact
from coldpress.errors import UnsupportedModel, UsageError
from coldpress.intake.decide import decide
from coldpress.sounds import made_up, steady, wav
from coldpress_runtime.function import Function

RATE = 16000
SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "num_labels": 6,
    "initializer_range": 0.3,  # random weights that are too small give every sound the same answer
}
RAW = SMALL | {
    "conv_dim": (16, 16, 16),
    "conv_kernel": (10, 8, 4),
    "conv_stride": (5, 8, 8),
    "num_feat_extract_layers": 3,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
    "classifier_proj_size": 16,
}
WHISPER = {
    "d_model": 32,
    "encoder_layers": 2,
    "encoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "num_mel_bins": 24,
    "max_source_positions": 150,
    "num_labels": 6,
    "init_std": 0.3,
    "classifier_proj_size": 16,
}
#: the model, its settings, its feature extractor, its settings
MODELS: dict[str, tuple[str, dict[str, Any], str, dict[str, Any]]] = {
    "wav2vec2": ("Wav2Vec2ForSequenceClassification", RAW, "Wav2Vec2FeatureExtractor", {}),
    "hubert": (
        "HubertForSequenceClassification",
        RAW | {"feat_extract_norm": "layer", "do_stable_layer_norm": True},
        "Wav2Vec2FeatureExtractor",
        {"return_attention_mask": True, "do_normalize": False},
    ),
    "wavlm": ("WavLMForSequenceClassification", RAW, "Wav2Vec2FeatureExtractor", {"return_attention_mask": True}),
    "ast": (
        "ASTForAudioClassification",
        SMALL | {"max_length": 120, "num_mel_bins": 32},
        "ASTFeatureExtractor",
        {"max_length": 120, "num_mel_bins": 32},
    ),
    "whisper": (
        "WhisperForAudioClassification",
        WHISPER,
        "WhisperFeatureExtractor",
        {"feature_size": 24, "chunk_length": 3},
    ),
}


@pytest.fixture(scope="session")
def sounding(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def folder(kind: str) -> Path:
        if kind not in made:
            made[kind] = tmp_path_factory.mktemp("sounding") / f"tiny-{kind}"
            name, settings, extractor, own = MODELS[kind]
            model: Any = getattr(transformers, name)
            torch.manual_seed(5)
            model(model.config_class(**settings)).eval().save_pretrained(made[kind])
            getattr(transformers, extractor)(**own).save_pretrained(made[kind])
        return made[kind]

    return folder


@pytest.fixture(scope="session")
def listening(
    tmp_path_factory: pytest.TempPathFactory, sounding: Callable[[str], Path]
) -> Callable[[str], Artifact]:
    made: dict[str, Artifact] = {}

    def build(kind: str) -> Artifact:
        if kind not in made:
            out = tmp_path_factory.mktemp(kind) / "out"
            made[kind] = coldpress.build(sounding(kind), out=out, precision="fp32", quick=True)
        return made[kind]

    return build


Listening = Callable[[str], Artifact]
Sounding = Callable[[str], Path]


def ask(artifact: Artifact, event: Any) -> Any:
    return json.loads(Function(str(artifact.function_folder)).handle(event))


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def words(sound: Any) -> Any:
    """The samples that a WAV of 16 bits holds."""
    return (np.clip(np.rint(sound * 32768), -32768, 32767) / 32768).astype(np.float32)


def scores(answer: list[dict[str, Any]]) -> dict[str, float]:
    return {one["label"]: one["score"] for one in answer}


def pipeline(folder: Path) -> Any:
    return transformers.pipeline("audio-classification", model=str(folder))


#: of transformers' own making, when WavLM is given a mask
MASKS = pytest.mark.filterwarnings("ignore:Support for mismatched key_padding_mask")


@MASKS
@pytest.mark.parametrize("kind", MODELS)
def test_sounds_are_classified_as_by_transformers(kind: str, listening: Listening, sounding: Sounding) -> None:
    artifact = listening(kind)
    (model,) = artifact.manifest["models"].values()
    assert (model["task"], model["drift"]["total"] <= 0.001) == ("audio-classification", True)
    assert model["samples"], "some are short enough to be shown"
    theirs = pipeline(sounding(kind))
    best = set()
    for seconds, seed in ((0.11, 21), (0.5, 22), (1, 23), (1.7, 24), (2.5, 25), (6, 26), (20, 27)):
        sound = steady(seconds, RATE, seed)
        wanted = theirs(words(sound), top_k=5)
        found = ask(artifact, {"audio": encoded(wav(sound, RATE))})
        assert [one["label"] for one in found] == [one["label"] for one in wanted]
        assert [one["score"] for one in found] == pytest.approx([one["score"] for one in wanted], abs=2e-5)
        best.add(tuple(one["label"] for one in found))
    assert len(best) > 1, "a model that always says the same shows nothing"


def test_the_shape_of_an_answer(listening: Listening, sounding: Sounding) -> None:
    artifact, theirs = listening("wav2vec2"), pipeline(sounding("wav2vec2"))
    sounds = [encoded(wav(sound, RATE)) for sound in made_up(6, seed=31, rate=RATE)]
    one = ask(artifact, {"audio": sounds[0]})
    assert len(one) == 5
    assert ask(artifact, {"audio": sounds[0], "top_k": 2}) == one[:2]
    assert len(ask(artifact, {"audio": sounds[0], "top_k": None})) == 6
    assert ask(artifact, {"audio": f"data:audio/wav;base64,{sounds[0]}"}) == one
    assert ask(artifact, {"audio": sounds}) == [ask(artifact, {"audio": sound}) for sound in sounds]
    for function in ("softmax", "sigmoid", "none"):
        wanted = theirs(words(made_up(6, seed=31, rate=RATE)[0]), function_to_apply=function, top_k=6)
        found = ask(artifact, {"audio": sounds[0], "function_to_apply": function, "top_k": None})
        assert scores(found) == pytest.approx(scores(wanted), abs=2e-5)
    (logits,) = ask(artifact, {"audio": sounds[0], "logits": True})["logits"]
    assert len(logits) == 6


@pytest.mark.parametrize("kind", ["wav2vec2", "hubert", "ast"])
@pytest.mark.parametrize(
    ("rate", "up", "down"), [(44100, 160, 441), (48000, 1, 3), (8000, 2, 1), (22050, 320, 441)]
)
def test_other_rates(kind: str, rate: int, up: int, down: int, listening: Listening, sounding: Sounding) -> None:
    """Against a resampler that is as exact; nobody's two are the same to the bit."""
    sound = steady(1.3, rate, seed=41)
    long = signal.firwin(128 * max(up, down) + 1, 0.95 / max(up, down), window=("kaiser", 8.96))
    resampled = signal.resample_poly(words(sound).astype(np.float64), up, down, window=long).astype(np.float32)
    wanted = scores(pipeline(sounding(kind))(resampled, top_k=6))
    found = scores(ask(listening(kind), {"audio": encoded(wav(sound, rate)), "top_k": None}))
    assert found == pytest.approx(wanted, abs=1e-3)


def test_channels_are_heard_as_one(listening: Listening) -> None:
    left, right = (words(sound) for sound in made_up(16, seed=42, rate=RATE)[1::7][:2])
    both = np.stack([left[:9000], right[:9000]], axis=1).astype("<f4").tobytes()
    form = struct.pack("<HHIIHH", 3, 2, RATE, RATE * 8, 8, 32)
    body = b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(both)) + both
    mean = ((left[:9000] + right[:9000]) / 2).astype("<f4").tobytes()
    one = struct.pack("<HHIIHH", 3, 1, RATE, RATE * 4, 4, 32)
    alone = b"WAVEfmt " + struct.pack("<I", 16) + one + b"data" + struct.pack("<I", len(mean)) + mean
    stereo, mono = (b"RIFF" + struct.pack("<I", len(data)) + data for data in (body, alone))
    artifact = listening("wav2vec2")
    assert ask(artifact, {"audio": encoded(stereo)}) == ask(artifact, {"audio": encoded(mono)})


@MASKS
@pytest.mark.parametrize("kind", ["wav2vec2", "hubert", "wavlm", "whisper"])
def test_the_shortest_and_the_longest(kind: str, listening: Listening, sounding: Sounding) -> None:
    artifact, theirs = listening(kind), pipeline(sounding(kind))
    (name,) = artifact.manifest["models"]
    spec = json.loads((artifact.function_folder / "models" / name / "task.json").read_text())
    # ONNX Runtime sums up in floats where wav2vec2 normalizes over time, and a minute is long.
    for seconds, close in ((spec["least"] / RATE, 2e-5), (60, 1e-4)):
        sound = np.rint(steady(seconds, RATE, seed=43) * 128).clip(-127, 127) / 128  # as bytes have it too
        found = scores(ask(artifact, {"audio": encoded(wav(sound.astype(np.float32), RATE)), "top_k": None}))
        assert found == pytest.approx(scores(theirs(sound.astype(np.float32), top_k=6)), abs=close)
    if spec["least"] > 1:
        short = ask(artifact, {"audio": encoded(wav(np.zeros(spec["least"] - 1, np.float32), RATE))})
        assert short["error"]["code"] == "audio_too_short"


def test_silence_has_an_answer(listening: Listening, sounding: Sounding) -> None:
    for kind in ("wav2vec2", "ast", "whisper"):
        silence = np.zeros(8000, np.float32)
        found = scores(ask(listening(kind), {"audio": encoded(wav(silence, RATE)), "top_k": None}))
        assert found == pytest.approx(scores(pipeline(sounding(kind))(silence, top_k=6)), abs=2e-5)


@pytest.mark.parametrize("source", [function_url, api_gateway_v1, load_balancer])
@pytest.mark.parametrize("kind", ["audio/wav", "audio/x-wav", "application/octet-stream"])
def test_bytes_over_http(source: Any, kind: str, listening: Listening) -> None:
    artifact, data = listening("wav2vec2"), wav(steady(0.3, RATE, seed=44), RATE)
    event = source("POST", "/", "", headers={"content-type": kind})
    event |= {"body": encoded(data), "isBase64Encoded": True}
    reply = ask(artifact, event)
    assert reply["statusCode"] == 200
    assert json.loads(reply["body"]) == ask(artifact, {"audio": encoded(data)})


def test_the_document(listening: Listening) -> None:
    reply = ask(listening("wav2vec2"), function_url("GET", "/openapi.json", ""))
    document = json.loads(reply["body"])
    assert "a WAV of at most 60 seconds, which is heard at 16000 Hz" in document["info"]["description"]
    content = document["paths"]["/"]["post"]["requestBody"]["content"]["application/json"]
    assert content["schema"]["properties"]["audio"]["oneOf"][1]["maxItems"] == 16


GOOD = encoded(wav(steady(0.2, RATE, seed=45), RATE))


@pytest.mark.parametrize(
    ("event", "code", "message"),
    [
        ([], "wrong_type", 'the request must be a JSON object such as {"audio": "base64 of a WAV"}'),
        ({}, "wrong_type", "audio[0] must be base64 in a text, not None"),
        ({"audio": []}, "empty_input", "'audio' is an empty list; send at least one sound"),
        ({"audio": [7]}, "wrong_type", "audio[0] must be base64 in a text, not 7"),
        ({"audio": "%%%"}, "empty_input", "audio[0] is empty"),
        ({"audio": "abc"}, "invalid_base64", "audio[0] is not base64"),
        (
            {"audio": [GOOD, encoded(b"OggS and so on")]},
            "invalid_audio",
            "audio[1] cannot be read: it is not a WAV",
        ),
        ({"audio": GOOD[:2000]}, "invalid_audio", "its RIFF header says 6436 bytes, and 1492 follow"),
        (
            {"audio": [GOOD] * 17},
            "too_many_sounds",
            "'audio' holds 17 sounds; the limit is 16: send them in parts",
        ),
        ({"audio": GOOD, "top_k": 0}, "unsupported_value", "'top_k' is 0"),
        ({"audio": GOOD, "function_to_apply": "exp"}, "unsupported_value", "'function_to_apply' is 'exp'"),
        (
            {"audio": encoded(wav(np.zeros(61 * 8000, np.float32), 8000))},
            "audio_too_long",
            "audio[0] has 61.0 seconds; the limit is 60: send it in parts",
        ),
    ],
)
def test_what_is_wrong_is_said(event: Any, code: str, message: str, listening: Listening) -> None:
    error = ask(listening("wav2vec2"), event)["error"]
    assert error["code"] == code
    assert message in error["message"]


def test_only_such_functions_carry_the_library(listening: Listening, tiny_artifact: Artifact) -> None:
    def libraries(artifact: Artifact) -> set[str]:
        return {path.name for path in (artifact.function_folder / "lib").iterdir()}

    assert libraries(listening("wav2vec2")) == {"libonnxruntime.so", "libsounds.so"}
    assert "libsounds.so" not in libraries(tiny_artifact)


def test_people_bring_their_own_samples(sounding: Sounding, tmp_path: Path) -> None:
    samples = tmp_path / "samples.jsonl"
    sounds = [wav(steady(0.4, rate, seed=rate), rate) for rate in (8000, 16000, 44100)]
    samples.write_text("\n".join(json.dumps({"audio": encoded(data)}) for data in sounds))
    artifact = coldpress.build(
        sounding("wav2vec2"), out=tmp_path / "out", precision="fp32", quick=True, samples=samples, package="none"
    )
    (model,) = artifact.manifest["models"].values()
    assert (model["drift"]["samples"], model["drift"]["total"] <= 0.001) == (3, True)
    samples.write_text(json.dumps({"audio": encoded(b"no sound")}))
    with pytest.raises(UsageError, match="a sample of this task: audio cannot be read: it is not a WAV file"):
        coldpress.build(sounding("wav2vec2"), out=tmp_path / "out", samples=samples)


# Which models these are.


@pytest.mark.parametrize(
    ("name", "family", "task"),
    [
        ("Wav2Vec2ForSequenceClassification", "wav2vec2", "audio-classification"),
        ("HubertForSequenceClassification", "hubert", "audio-classification"),
        ("WavLMForSequenceClassification", "wavlm", "audio-classification"),
        ("UniSpeechSatForSequenceClassification", "unispeech-sat", "audio-classification"),
        ("ASTForAudioClassification", "audio-spectrogram-transformer", "audio-classification"),
        ("WhisperForAudioClassification", "whisper", "audio-classification"),
        ("BertForSequenceClassification", "bert", "text-classification"),
    ],
)
def test_tasks_are_found(name: str, family: str, task: str, tmp_path: Path) -> None:
    assert decide(tmp_path, "somebody/model", {"architectures": [name], "model_type": family}, None) == task


def test_an_unknown_family_is_found_by_its_rate(tmp_path: Path) -> None:
    (tmp_path / "preprocessor_config.json").write_text('{"sampling_rate": 16000}')
    config = {"architectures": ["NewForSequenceClassification"], "model_type": "new"}
    assert decide(tmp_path, "somebody/model", config, None) == "audio-classification"


@pytest.mark.parametrize("name", ["Wav2Vec2ForCTC", "WhisperForConditionalGeneration", "HubertForCTC"])
def test_speech_recognition_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModel, match=f"is a {name}, which generates"):
        decide(tmp_path, "somebody/model", {"architectures": [name], "model_type": "wav2vec2"}, None)


def test_other_heads_that_listen_are_tensors(tmp_path: Path) -> None:
    config = {"architectures": ["Wav2Vec2ForXVector"], "model_type": "wav2vec2"}
    assert decide(tmp_path, "somebody/model", config, None) == "tensors"


def copied(folder: Path, to: Path, *names: str) -> Path:
    to.mkdir()
    for name in names:
        (to / name).write_bytes((folder / name).read_bytes())
    return to


def test_a_model_without_its_extractor(sounding: Sounding, tmp_path: Path) -> None:
    folder = copied(sounding("wav2vec2"), tmp_path / "model", "config.json", "model.safetensors")
    with pytest.raises(UnsupportedModel, match=r"has no preprocessor_config\.json"):
        coldpress.build(folder, out=tmp_path / "out")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"feature_extractor_type": "SeamlessM4TFeatureExtractor"},
            "is a SeamlessM4TFeatureExtractor; those that",
        ),
        ({"sampling_rate": 500}, "hears 500 samples in a second; from 1000 to 384000 can be made"),
        ({"feature_extractor_type": "WhisperFeatureExtractor", "dither": 0.1}, r"adds noise \(dither 0\.1\)"),
    ],
)
def test_an_extractor_that_cannot_be_mirrored(
    changes: dict[str, Any], message: str, sounding: Sounding, tmp_path: Path
) -> None:
    folder = copied(sounding("wav2vec2"), tmp_path / "model", "config.json", "model.safetensors")
    said = json.loads((sounding("wav2vec2") / "preprocessor_config.json").read_text()) | changes
    (folder / "preprocessor_config.json").write_text(json.dumps(said))
    with pytest.raises(UnsupportedModel, match=message):
        coldpress.build(folder, out=tmp_path / "out")
