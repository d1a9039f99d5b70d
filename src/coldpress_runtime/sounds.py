"""Sounds of a request, as a model hears them: one channel of floats, at its own rate. The work is done in C."""

from coldpress_runtime.faults import BadRequest
from coldpress_runtime.libraries import find_library
from coldpress_runtime.native import Char, open_library, symbol
from coldpress_runtime.wav import Wav

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIBRARY = "libsounds.so"
_ERROR_SIZE = 256


class Sounds:
    def __init__(self, folders: tuple[str, ...], spec: "dict[str, Any]") -> None:
        library = open_library(find_library(LIBRARY, folders))
        self._decode = symbol(library, "sound_decode", 9)
        self._resample = symbol(library, "sound_resample", 7)
        self._rate: int = spec["rate"]
        self._least: int = spec["least"]
        self._most: int = spec["limits"]["seconds"]

    def read(self, data: bytes, place: str) -> bytes:
        """The samples of a WAV file: float32, one after the other."""
        wav = Wav(data, place)
        if wav.frames > self._most * wav.rate:
            raise BadRequest(
                413,
                "audio_too_long",
                f"{place} has {wav.frames / wav.rate:.1f} seconds; the limit is {self._most}: send it in parts",
            )
        count = -(-wav.frames * self._rate // wav.rate)
        if count < self._least:
            raise BadRequest(
                400,
                "audio_too_short",
                f"{place} has {count} samples at {self._rate} Hz; the model needs at least {self._least}",
            )
        error, samples = (Char * _ERROR_SIZE)(), (Char * (4 * wav.frames))()
        form = (wav.start, wav.frames, wav.channels, wav.width, wav.floating)
        if not self._decode(data, len(data), *form, samples, error):
            raise _refused(place, error)
        if wav.rate == self._rate:
            return bytes(samples)
        resampled = (Char * (4 * count))()
        if not self._resample(samples, wav.frames, wav.rate, self._rate, resampled, count, error):
            raise _refused(place, error)
        return bytes(resampled)


def _refused(place: str, error: "Any") -> BadRequest:
    reason = bytes(error).split(b"\0", 1)[0].decode(errors="replace")
    return BadRequest(400, "invalid_audio", f"{place} cannot be read: {reason}")
