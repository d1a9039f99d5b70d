"""What feature extractors do to samples, as layers before a model, so that a graph takes plain samples.

transformers computes in numpy or torch what is mirrored here: wav2vec2's normalization, the filter banks of Kaldi
(for AST) and those of Whisper. Spectra are products with a matrix, in doubles: the logarithm that follows shows
the last bit of a quiet band beside a loud one, and int8 leaves doubles alone.
"""

from math import gcd
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

KALDI_FRAME, KALDI_HOP, KALDI_FFT = 400, 160, 512
KALDI_LOWEST, KALDI_PREEMPHASIS, KALDI_FLOOR = 20, 0.97, 1.192092955078125e-07
WHISPER_FLOOR, WHISPER_DEPTH = 1e-10, 8.0


def hearing(features: str, extractor: Any) -> nn.Module:
    """From samples [1, n] to what the model is called with."""
    made = {"samples": Normalized, "kaldi": KaldiBanks, "whisper": WhisperBanks}[features]
    return made(extractor)


class Normalized(nn.Module):
    """The samples themselves, as loud as all others, if the extractor wants that."""

    def __init__(self, extractor: Any) -> None:
        super().__init__()
        self.wanted = bool(extractor.do_normalize)

    def forward(self, samples: Tensor) -> Tensor:
        if not self.wanted:
            return samples
        # In doubles: engines sum up one by one, and after a minute, a million samples, floats are off by 0.001.
        exact = samples.double()
        centred = exact - exact.mean(dim=1, keepdim=True)
        return (centred / torch.sqrt((centred * centred).mean(dim=1, keepdim=True) + 1e-7)).float()


class Banks(nn.Module):
    """Always as many frames of `length` samples, `hop` apart; from each the power in each band."""

    basis: Tensor
    bands: Tensor

    def __init__(self, hop: int, frames: int, basis: NDArray[Any], bands: NDArray[Any]) -> None:
        super().__init__()
        self.hop, self.frames, self.length = hop, frames, len(basis)
        # Real parts, then imaginary ones.
        self.register_buffer("basis", torch.from_numpy(np.concatenate([basis.real, basis.imag], axis=1)))
        self.register_buffer("bands", torch.from_numpy(bands.astype(np.float64)))

    def power(self, samples: Tensor) -> Tensor:
        """[1, at least as many samples as the frames need] → [1, frames, bands]"""
        step = gcd(self.hop, self.length)
        blocks = samples[:, : (self.frames - 1) * self.hop + self.length].reshape(1, -1, step)
        # Frames overlap by whole blocks: each is some blocks in a row.
        stride, last = self.hop // step, (self.frames - 1) * (self.hop // step) + 1
        parts = [blocks[:, at : at + last : stride] for at in range(self.length // step)]
        real, imaginary = (torch.cat(parts, dim=2).double() @ self.basis).chunk(2, dim=2)
        return (real * real + imaginary * imaginary) @ self.bands


def fitted(samples: Tensor, length: int) -> Tensor:
    """Cut off, or silence added."""
    return nn.functional.pad(samples, (0, length))[:, :length]


class KaldiBanks(Banks):
    """As ASTFeatureExtractor: silence after the end is no frame, but nothing at all."""

    ends: Tensor

    def __init__(self, extractor: Any) -> None:
        from transformers.audio_utils import mel_filter_bank, window_function

        # What is done to a frame is linear, so all of it goes into the matrix: what becomes of each sample alone.
        each = np.eye(KALDI_FRAME)
        each -= each.mean(axis=1, keepdims=True)
        before = each[:, :-1].copy()
        each[:, 1:] -= KALDI_PREEMPHASIS * before
        each[:, 0] *= 1 - KALDI_PREEMPHASIS
        each *= window_function(KALDI_FRAME, "hann", periodic=False)
        bands = mel_filter_bank(
            num_frequency_bins=KALDI_FFT // 2 + 1,
            num_mel_filters=extractor.num_mel_bins,
            min_frequency=KALDI_LOWEST,
            max_frequency=extractor.sampling_rate // 2,
            sampling_rate=extractor.sampling_rate,
            norm=None,
            mel_scale="kaldi",
            triangularize_in_mel_space=True,
        )
        super().__init__(KALDI_HOP, extractor.max_length, np.fft.rfft(each, KALDI_FFT), bands)
        self.register_buffer("ends", torch.arange(self.frames).view(1, -1, 1) * self.hop + self.length)
        self.mean: float = extractor.mean if extractor.do_normalize else 0.0
        self.scale: float = extractor.std * 2 if extractor.do_normalize else 1.0

    def forward(self, samples: Tensor) -> Tensor:
        power = self.power(fitted(samples, (self.frames - 1) * self.hop + self.length))
        banks = torch.log(power.clamp(min=KALDI_FLOOR)).float()
        there = torch.where(self.ends <= samples.shape[1], banks, torch.zeros_like(banks))
        return (there - self.mean) / self.scale


class WhisperBanks(Banks):
    """As WhisperFeatureExtractor: half a minute, whatever came, and nothing much quieter than the loudest."""

    def __init__(self, extractor: Any) -> None:
        window = torch.hann_window(extractor.n_fft).double().numpy()
        basis = np.fft.rfft(np.eye(extractor.n_fft) * window)
        super().__init__(extractor.hop_length, extractor.nb_max_frames, basis, extractor.mel_filters)
        self.samples = int(extractor.n_samples)

    def forward(self, samples: Tensor) -> Tensor:
        half = self.length // 2
        mirrored = nn.functional.pad(fitted(samples, self.samples)[:, None], (half, half), mode="reflect")[:, 0]
        banks = torch.log10(self.power(mirrored).clamp(min=WHISPER_FLOOR)).float().transpose(1, 2)
        loudest = banks.amax(dim=(1, 2), keepdim=True)
        return (torch.maximum(banks, loudest - WHISPER_DEPTH) + 4.0) / 4.0
