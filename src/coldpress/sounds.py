"""Sounds made up where nobody gave any, and written as WAV: the same bytes on every machine."""

import struct

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float32]
#: of each length some; the last one is so short that it can be shown
SECONDS = (0.2, 1.0, 0.45, 2.0, 0.7, 1.4, 0.08)
#: shorter ones are written in bytes, others in words
SHOWN_SECONDS = 0.1
LOWEST, HIGHEST = 60.0, 0.45  # Hz, and a part of the rate


def made_up(count: int, seed: int, rate: int, least: int = 1) -> list[Samples]:
    """Chirps, chords and bursts of noise, loud and quiet, so that no two sound alike to a model that pools."""
    generator = np.random.default_rng(seed)
    lengths = [max(least, round(SECONDS[at % len(SECONDS)] * rate)) for at in range(count)]
    return [_sound(length, rate, generator) for length in lengths]


def steady(seconds: float, rate: int, seed: int) -> Samples:
    """One of a given length."""
    return _sound(round(seconds * rate), rate, np.random.default_rng(seed))


def _sound(length: int, rate: int, generator: np.random.Generator) -> Samples:
    time = np.arange(length) / rate
    sound = np.zeros(length)
    for _ in range(generator.integers(1, 5)):
        part = (_chirp, _chord, _burst)[generator.integers(3)](time, rate, generator)
        sound += generator.uniform(0.2, 1) * part
    sound += generator.uniform(0, 0.02) * generator.standard_normal(length)
    loudest = float(np.abs(sound).max()) or 1.0
    return (sound * (generator.uniform(0.05, 0.95) / loudest)).astype(np.float32)


def _pitch(rate: int, generator: np.random.Generator) -> float:
    """As ears have it: as often between 100 and 200 Hz as between 1000 and 2000."""
    return float(np.exp(generator.uniform(np.log(LOWEST), np.log(HIGHEST * rate))))


def _chirp(time: NDArray[np.float64], rate: int, generator: np.random.Generator) -> NDArray[np.float64]:
    low, high = _pitch(rate, generator), _pitch(rate, generator)
    slope = (high - low) / max(float(time[-1]), 1 / rate)
    return np.sin(2 * np.pi * (low * time + slope * time**2 / 2))


def _chord(time: NDArray[np.float64], rate: int, generator: np.random.Generator) -> NDArray[np.float64]:
    root = min(_pitch(rate, generator), HIGHEST * rate / 2)
    tones = [np.sin(2 * np.pi * root * step * time) for step in generator.choice([1, 5 / 4, 4 / 3, 3 / 2, 2], 3)]
    fading: NDArray[np.float64] = np.sum(tones, axis=0) * np.exp(-generator.uniform(0, 8) * time)
    return fading


def _burst(time: NDArray[np.float64], rate: int, generator: np.random.Generator) -> NDArray[np.float64]:
    middle, width = generator.uniform(0, time[-1]), generator.uniform(0.01, 0.3)
    shape: NDArray[np.float64] = np.exp(-(((time - middle) / width) ** 2))
    noise = generator.standard_normal(len(time))
    # Dull or bright: each sample as it is, or blended with those before it.
    dull = np.convolve(noise, np.ones(generator.integers(1, 12)))[: len(time)]
    return shape * dull


def wav(samples: Samples, rate: int) -> bytes:
    """One channel of PCM."""
    if len(samples) <= SHOWN_SECONDS * rate:
        data = (np.clip(np.rint(samples * 128), -128, 127) + 128).astype(np.uint8).tobytes()
        width = 1
    else:
        data = np.clip(np.rint(samples * 32768), -32768, 32767).astype("<i2").tobytes()
        width = 2
    form = struct.pack("<HHIIHH", 1, 1, rate, rate * width, width, 8 * width)
    body = b"WAVE" + _chunk(b"fmt ", form) + _chunk(b"data", data)
    return _chunk(b"RIFF", body)


def _chunk(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data + bytes(len(data) % 2)
