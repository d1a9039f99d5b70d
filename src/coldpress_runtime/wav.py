"""What a WAV file says of itself, read with care: nothing that it promises is believed before it is seen."""

from coldpress_runtime.faults import BadRequest

#: format numbers: whole numbers, floats, and one that says which of them it is farther down
_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
#: how the identity of a format ends in which the number above stands first
_IDENTITY = b"\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"
#: bits of a sample, by format
_BITS = {_PCM: (8, 16, 24, 32), _FLOAT: (32, 64)}
#: Hz that can be resampled, as the library in C has it
LOWEST_RATE, HIGHEST_RATE = 1000, 384000
#: what a writer leaves that could not go back to fill in a size
_STREAMED = 0xFFFFFFFF
_MOST_CHUNKS = 1000
_HEADER, _SHORT_FORMAT, _LONG_FORMAT = 12, 16, 40


class Wav:
    """Where the samples of a file lie, and what they are."""

    def __init__(self, data: bytes, place: str) -> None:
        self._data = data
        self._place = place
        if data[:4] != b"RIFF" or data[8:_HEADER] != b"WAVE":
            raise self._refused(
                f"it is not a WAV file, it begins with {data[:4]!r}; ffmpeg -i your-file sound.wav makes one"
            )
        #: a writer that knew the size of the whole knew those of its parts
        self._streamed = _number(data, 4, 4) == _STREAMED
        left = len(data) - 8
        # One byte less is forgiven: writers forget the one that pads the last chunk.
        if not self._streamed and _number(data, 4, 4) > left + 1:
            raise self._refused(f"its RIFF header says {_number(data, 4, 4)} bytes, and {left} follow")
        self.start, size = self._find()
        block = self.channels * self.width
        if size % block:
            raise self._refused(f"its sound has {size} bytes, which is no multiple of the {block} of a sample")
        if not size:
            raise self._refused("it holds no samples")
        self.frames: int = size // block

    def _find(self) -> tuple[int, int]:
        """Walk along the chunks to the samples: where they begin, and how many bytes they are."""
        data, at, known = self._data, _HEADER, False
        for _ in range(_MOST_CHUNKS):
            if at + 8 > len(data):
                raise self._refused("it has no data chunk" if known else "it has neither a fmt nor a data chunk")
            name, size, left = data[at : at + 4], _number(data, at + 4, 4), len(data) - at - 8
            if name == b"data" and size == _STREAMED and self._streamed:
                size = left  # to the end, as ffmpeg writes into a pipe
            if size > left:
                raise self._refused(f"its chunk {_shown(name)} says {size} bytes, and {left} follow")
            if name == b"fmt ":
                self._read_format(data[at + 8 : at + 8 + size])
                known = True
            elif name == b"data":
                if not known:
                    raise self._refused("its data chunk comes before any fmt chunk")
                return at + 8, size
            at += 8 + size + size % 2
        raise self._refused(f"it has {_MOST_CHUNKS} chunks or more before its sound")

    def _read_format(self, chunk: bytes) -> None:
        if len(chunk) < _SHORT_FORMAT:
            raise self._refused(f"its fmt chunk has {len(chunk)} bytes; it takes {_SHORT_FORMAT}")
        kind, self.channels, self.rate = _number(chunk, 0, 2), _number(chunk, 2, 2), _number(chunk, 4, 4)
        block, bits = _number(chunk, 12, 2), _number(chunk, 14, 2)
        if kind == _EXTENSIBLE:
            if len(chunk) < _LONG_FORMAT:
                raise self._refused(f"its extensible fmt chunk has {len(chunk)} bytes; it takes {_LONG_FORMAT}")
            # A format that is not one of the numbered ones is none of ours.
            kind = _number(chunk, 24, 2) if chunk[26:_LONG_FORMAT] == _IDENTITY else _EXTENSIBLE
        if kind not in _BITS:
            raise self._refused(
                f"its format is number {kind}; {_PCM} (PCM) and {_FLOAT} (floats) can be read: "
                "ffmpeg -i your-file -c:a pcm_s16le sound.wav"
            )
        if bits not in _BITS[kind]:
            known = ", ".join(map(str, _BITS[kind]))
            raise self._refused(f"its samples have {bits} bits; those of format {kind} can have {known}")
        if not self.channels:
            raise self._refused("it has 0 channels")
        if not LOWEST_RATE <= self.rate <= HIGHEST_RATE:
            raise self._refused(f"its rate is {self.rate} Hz; it can be from {LOWEST_RATE} to {HIGHEST_RATE}")
        self.width, self.floating = bits // 8, kind == _FLOAT
        if block != self.channels * self.width:
            raise self._refused(
                f"it says that a sample of {self.channels} × {bits} bits has {block} bytes; it has "
                f"{self.channels * self.width}"
            )

    def _refused(self, reason: str) -> BadRequest:
        return BadRequest(400, "invalid_audio", f"{self._place} cannot be read: {reason}")


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _shown(name: bytes) -> str:
    return repr(name.decode("latin-1"))
