"""Sound → labels."""

import warnings
from base64 import b64decode, b64encode
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from coldpress.errors import UnsupportedModel, UsageError
from coldpress.intake.audio import load_extractor
from coldpress.intake.source import AudioModel
from coldpress.package.libraries import host_architecture, place_libraries
from coldpress.sounds import made_up, steady, wav
from coldpress.tasks import Answer, Carried, Feed, Request, Signature
from coldpress.tasks.hearing import KALDI_FRAME, hearing
from coldpress.tasks.original import load_pretrained
from coldpress_runtime.faults import BadRequest
from coldpress_runtime.sounds import Sounds

INPUT = "samples"
SAMPLES, CALIBRATION = 48, 32
#: What one request may bring, beside Lambda's own limits.
LIMITS = {"sounds": 16, "seconds": 60}
#: seconds: what is worth timing, the longest sample, what a graph is probed with (a minute would take gigabytes)
TIMED, LONG, PROBED = (1, 5), 8, 20


class Listener(nn.Module):
    """The model with its feature extractor before it: samples go in as they are read."""

    def __init__(self, hears: nn.Module, model: nn.Module) -> None:
        super().__init__()
        self.hears = hears
        self.model = model

    def forward(self, samples: Tensor) -> Tensor:
        logits: Tensor = self.model(self.hears(samples)).logits
        return logits


class AudioClassification:
    native = ("sounds",)

    def __init__(self, source: AudioModel) -> None:
        self.source = source

    @cached_property
    def _extractor(self) -> Any:
        return load_extractor(self.source.folder)

    @cached_property
    def _model(self) -> Any:
        return load_pretrained(self.source, "AutoModelForAudioClassification").eval()

    def original(self) -> nn.Module:
        return Listener(hearing(self.source.features, self._extractor), self._model).eval()

    @cached_property
    def _least(self) -> int:
        """The fewest samples that there is an answer to: layers that shorten must have something to shorten."""
        if self.source.features != "samples":
            return KALDI_FRAME if self.source.features == "kaldi" else 1
        original, low, high = self.original(), 0, self.source.rate
        if not _answers(original, high):
            raise UnsupportedModel(f"{self.source.origin} has no answer to a second of noise")
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if _answers(original, middle) else (middle, high)
        return high

    def signature(self) -> Signature:
        rate = self.source.rate
        example = torch.from_numpy(steady(1, rate, seed=5))[None]
        samples = torch.export.Dim(INPUT, min=max(2, self._least), max=LIMITS["seconds"] * rate)
        return Signature((INPUT,), ("logits",), (example,), ((1,),), ({1: samples},))

    def samples(self) -> list[Request]:
        return self.asked(self.spec())

    @classmethod
    def asked(cls, spec: Mapping[str, Any]) -> list[Request]:
        rate = spec["rate"]
        # And a long one: what a graph wrongly took for constant may show only there.
        sounds = [*made_up(SAMPLES - 1, 1, rate, spec["least"]), steady(LONG, rate, seed=7)]
        return [_request(wav(sound, rate)) | {"logits": True} for sound in sounds]

    def truth(self, requests: list[Request]) -> list[Answer]:
        """As the original is used: made ready by its own feature extractor, one sound at a time."""
        answers: list[Answer] = []
        with TemporaryDirectory(prefix="coldpress-sounds-") as folder, torch.inference_mode():
            libraries = Path(folder) / "lib"
            place_libraries("none", self.native, libraries, host_architecture())
            # Files are read as the function reads them: transformers itself would need ffmpeg.
            sounds = Sounds((str(libraries),), self.spec())
            for request in requests:
                answers.append((self._as_used(_heard(sounds, request)),))
        return answers

    def _as_used(self, samples: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of transformers, about what it does itself
            ready = self._extractor(samples, sampling_rate=self.source.rate, return_tensors="pt")
            return self._model(**ready).logits[0].numpy().astype(np.float32)

    def question(self, request: Request) -> Request:
        return {**request, "logits": True}

    def read(self, answer: Any) -> Answer:
        return (np.array(answer["logits"][0], dtype=np.float32),)

    def timed(self) -> dict[str, Request]:
        rate = self.source.rate
        return {f"{seconds} s": _request(wav(steady(seconds, rate, seed=2), rate)) for seconds in TIMED}

    def calibration(self) -> list[Feed]:
        return [{INPUT: sound[None]} for sound in made_up(CALIBRATION, 3, self.source.rate, self._least)]

    def probes(self) -> list[Feed]:
        lengths = (self._least / self.source.rate, 1, PROBED)
        return [{INPUT: steady(seconds, self.source.rate, seed=4)[None]} for seconds in lengths]

    def carry(self, work: Path) -> Carried:
        return Carried((), {})

    def spec(self) -> dict[str, Any]:
        source = self.source
        return {
            "labels": list(source.labels),
            "function": source.function,
            "rate": source.rate,
            "least": self._least,
            "limits": LIMITS,
        }

    def describe(self) -> dict[str, Any]:
        return {
            "inputs": {"audio": f"base64 of a WAV of at most {LIMITS['seconds']} seconds, or a list of them"},
            "outputs": {"labels": list(self.source.labels), "function": self.source.function},
        }


def _answers(original: nn.Module, length: int) -> bool:
    try:
        with torch.inference_mode():
            return bool(torch.isfinite(original(torch.from_numpy(steady(1, length, seed=6))[None])).all())
    except (RuntimeError, ValueError, IndexError):  # whichever layer it is that cannot
        return False


def _heard(sounds: Sounds, request: Request) -> Any:
    data = request.get("audio")
    if not isinstance(data, str):
        raise UsageError(f'a sample of this task is {{"audio": "base64"}}, not {str(request)[:80]}')
    try:
        return np.frombuffer(sounds.read(b64decode(data), "audio"), np.float32)
    except BadRequest as refused:
        raise UsageError(f"a sample of this task: {refused.message}") from None


def _request(data: bytes) -> Request:
    return {"audio": b64encode(data).decode()}
