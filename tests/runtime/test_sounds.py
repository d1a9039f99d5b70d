"""WAV files of every kind as others read them, those that lie, and rates changed as exactly as ears could want."""

import io
import struct
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import signal  # type: ignore[import-untyped]

from coldpress.package.libraries import host_architecture, place_libraries
from coldpress.sounds import made_up, wav
from coldpress_runtime.faults import BadRequest
from coldpress_runtime.sounds import Sounds

RATE, SECONDS, LEAST = 16000, 3, 4
IDENTITY = bytes.fromhex("000000001000800000aa00389b71")
EVERY_BIT = 0xFFFFFFFF


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sounds") / "lib"
    place_libraries("none", ("sounds",), folder, host_architecture())
    return folder


def heard(libraries: Path, data: bytes, rate: int = RATE) -> Any:
    spec = {"rate": rate, "least": LEAST, "limits": {"seconds": SECONDS}}
    return np.frombuffer(Sounds((str(libraries),), spec).read(data, "audio[0]"), np.float32)


def chunk(name: bytes, data: bytes, size: int | None = None) -> bytes:
    return name + struct.pack("<I", len(data) if size is None else size) + data + bytes(len(data) % 2)


def form(
    kind: int, channels: int, rate: int, bits: int, block: int | None = None, valid: int | None = None
) -> bytes:
    """A fmt chunk's content; the long one if `valid` bits are said."""
    block = channels * bits // 8 if block is None else block
    number = kind if valid is None else 0xFFFE
    short = struct.pack("<HHIIHH", number, channels, rate, rate * block & EVERY_BIT, block, bits)
    return short if valid is None else short + struct.pack("<HHIH", 22, valid, 3, kind) + IDENTITY


def file(
    form: bytes, data: bytes, before: bytes = b"", size: int | None = None, whole: int | None = None
) -> bytes:
    body = b"WAVE" + before + chunk(b"fmt ", form) + chunk(b"data", data, size)
    return chunk(b"RIFF", body, whole)


def packed(samples: Any, bits: int, floating: bool) -> bytes:
    """[frames, channels] from -1 to 1 as a file has them."""
    if floating:
        return bytes(samples.astype(f"<f{bits // 8}").tobytes())
    if bits == 8:
        return bytes((np.rint(samples * 127) + 128).astype(np.uint8).tobytes())
    whole = np.rint(samples * (2 ** (bits - 1) - 1)).astype("<i4" if bits != 16 else "<i2")
    raw = whole.tobytes()
    return raw if bits != 24 else b"".join(raw[at : at + 3] for at in range(0, len(raw), 4))


STEREO = np.stack([made_up(2, seed=3, rate=RATE)[0], made_up(2, seed=4, rate=RATE)[0]], axis=1).astype(np.float64)
#: name → file, its samples
KINDS: dict[str, bytes] = {
    f"{'float' if floating else 'pcm'} {bits} × {channels}{' long' if valid else ''}": file(
        form(3 if floating else 1, channels, RATE, bits, valid=valid),
        packed(np.tile(STEREO, (1, 3))[:, :channels], bits, floating),
    )
    for floating, all_bits in ((False, (8, 16, 24, 32)), (True, (32, 64)))
    for bits in all_bits
    for channels in (1, 2, 6)
    for valid in (None, bits)
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_read(kind: str, libraries: Path) -> None:
    channels = int(kind.split()[3])
    wanted = np.tile(STEREO, (1, 3))[:, :channels].mean(axis=1)
    steps = {"8": 1.1 / 127, "16": 1.1 / 32767}.get(kind.split()[1], 1e-6)
    assert np.abs(heard(libraries, KINDS[kind]) - wanted).max() <= steps


def test_words_are_read_to_the_bit(libraries: Path) -> None:
    words = np.arange(-32768, 32768, 7, dtype="<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setparams((1, 2, RATE, 0, "NONE", ""))
        writer.writeframes(words.tobytes())
    assert np.array_equal(heard(libraries, file.getvalue()), words.astype(np.float32) / 32768)


def test_our_own_writer(libraries: Path) -> None:
    for sound in made_up(14, seed=1, rate=RATE, least=900):
        step = 128 if len(sound) <= 1600 else 32768
        assert np.abs(heard(libraries, wav(sound, RATE)) - sound).max() <= 0.51 / step


def test_other_chunks_are_passed_over(libraries: Path) -> None:
    before = chunk(b"LIST", b"odd") + chunk(b"JUNK", bytes(28)) + chunk(b"bext", b"")
    data = packed(STEREO, 16, False)
    plain = file(form(1, 2, RATE, 16), data)
    assert np.array_equal(heard(libraries, file(form(1, 2, RATE, 16), data, before)), heard(libraries, plain))
    assert np.array_equal(heard(libraries, plain + b"LIST\xff\xff\xff\xff and more"), heard(libraries, plain))


def test_the_last_padding_byte_may_be_missing(libraries: Path) -> None:
    odd = file(form(1, 1, RATE, 8), bytes(range(101)))
    assert len(heard(libraries, odd[:-1])) == 101


def test_a_stream_goes_on_to_its_end(libraries: Path) -> None:
    """As ffmpeg writes into a pipe, where it cannot go back to fill in sizes."""
    data = packed(STEREO, 16, False)
    known = file(form(1, 2, RATE, 16), data)
    streamed = file(form(1, 2, RATE, 16), data, chunk(b"LIST", bytes(26)), EVERY_BIT, EVERY_BIT)
    assert np.array_equal(heard(libraries, streamed), heard(libraries, known))


DATA = packed(STEREO[:100], 16, False)
PLAIN = form(1, 2, RATE, 16)
LIES: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "it is not a WAV file, it begins with b''"),
    "mp3": (b"ID3\x04" + bytes(60), "it is not a WAV file, it begins with b'ID3"),
    "another riff": (chunk(b"RIFF", b"AVI " + bytes(60)), "it is not a WAV file"),
    "big-endian": (b"RIFX" + file(PLAIN, DATA)[4:], "it begins with b'RIFX'"),
    "no chunk": (chunk(b"RIFF", b"WAVE"), "it has neither a fmt nor a data chunk"),
    "no data": (chunk(b"RIFF", b"WAVE" + chunk(b"fmt ", PLAIN)), "it has no data chunk"),
    "data first": (chunk(b"RIFF", b"WAVE" + chunk(b"data", DATA)), "its data chunk comes before any fmt chunk"),
    "cut off": (file(PLAIN, DATA)[:-90], "its RIFF header says 436 bytes, and 346 follow"),
    "data too large": (file(PLAIN, DATA, size=401), "its chunk 'data' says 401 bytes, and 400 follow"),
    "data far too large": (file(PLAIN, DATA, size=0xFFFFFFF0), "its chunk 'data' says 4294967280 bytes"),
    "half a stream": (file(PLAIN, DATA, size=EVERY_BIT), "its chunk 'data' says 4294967295 bytes"),
    "a stream cut off": (
        file(PLAIN, DATA[:-1] + b"", size=EVERY_BIT, whole=EVERY_BIT)[:-1],
        "its sound has 399 bytes, which is no multiple of the 4 of a sample",
    ),
    "never filled in": (file(PLAIN, DATA, size=0), "it holds no samples"),
    "other chunk too large": (
        file(PLAIN, DATA, chunk(b"LIST", b"1234", EVERY_BIT)),
        "its chunk 'LIST' says 4294967295 bytes, and 436 follow",
    ),
    "many chunks": (file(PLAIN, DATA, chunk(b"JUNK", b"") * 1000), "it has 1000 chunks or more before its sound"),
    "half a sample": (
        file(PLAIN, DATA[:-2]),
        "its sound has 398 bytes, which is no multiple of the 4 of a sample",
    ),
    "short format": (file(PLAIN[:14], DATA), "its fmt chunk has 14 bytes; it takes 16"),
    "short long format": (
        file(form(1, 2, RATE, 16, valid=16)[:30], DATA),
        "extensible fmt chunk has 30 bytes",
    ),
    "adpcm": (file(form(2, 2, RATE, 4, 1024), DATA), "its format is number 2; 1 (PCM) and 3 (floats) can be read"),
    "unknown identity": (file(form(1, 2, RATE, 16, valid=16)[:-1] + b"!", DATA), "its format is number 65534"),
    "twelve bits": (file(form(1, 2, RATE, 12, 4), DATA), "its samples have 12 bits; those of format 1 can have 8"),
    "half floats": (
        file(form(3, 2, RATE, 16), DATA),
        "samples have 16 bits; those of format 3 can have 32, 64",
    ),
    "no channels": (file(form(1, 0, RATE, 16, 2), DATA), "it has 0 channels"),
    "no rate": (file(form(1, 2, 0, 16), DATA), "its rate is 0 Hz; it can be from 1000 to 384000"),
    "a rate too high": (file(form(1, 2, EVERY_BIT, 16), DATA), "its rate is 4294967295 Hz"),
    "wrong block": (file(form(1, 2, RATE, 16, 3), DATA), "a sample of 2 × 16 bits has 3 bytes; it has 4"),
    "not a number": (
        file(form(3, 1, RATE, 32), np.array([0, 1, np.nan, 0], "<f4").tobytes()),
        "its sample 2 is nan; the limit is 2147483648 either way",
    ),
    "too loud": (file(form(3, 1, RATE, 64), np.array([0, 1, 0, -1e300], "<f8").tobytes()), "its sample 3 is -inf"),
}


@pytest.mark.parametrize("lie", LIES)
def test_what_a_file_lies_about_is_said(lie: str, libraries: Path) -> None:
    data, message = LIES[lie]
    with pytest.raises(BadRequest) as refused:
        heard(libraries, data)
    assert (refused.value.status, refused.value.code) == (400, "invalid_audio")
    assert refused.value.message.startswith("audio[0] cannot be read: ")
    assert message in refused.value.message


def test_limits_have_sentences_of_their_own(libraries: Path) -> None:
    with pytest.raises(BadRequest, match=r"audio\[0\] has 3\.5 seconds; the limit is 3: send it in parts") as long:
        heard(libraries, file(form(1, 1, 8000, 8), bytes(28000)))
    assert (long.value.status, long.value.code) == (413, "audio_too_long")
    with pytest.raises(BadRequest, match="has 3 samples at 16000 Hz; the model needs at least 4") as short:
        heard(libraries, file(form(1, 1, RATE, 16), bytes(6)))
    assert short.value.code == "audio_too_short"


BROKEN = [*sorted(KINDS), "stream", "other rate"]


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(BROKEN),
    changes=st.lists(st.tuples(st.integers(0, 90), st.integers(0, 255)), max_size=6),
    cut=st.integers(0, 60),
)
def test_broken_bytes_never_break_the_sandbox(
    kind: str, changes: list[tuple[int, int]], cut: int, libraries: Path
) -> None:
    made = KINDS | {
        "stream": file(PLAIN, DATA, size=EVERY_BIT, whole=EVERY_BIT),
        "other rate": file(form(1, 2, 44100, 16), DATA),
    }
    data = bytearray(made[kind])
    for place, value in changes:
        data[place] = value
    try:
        found = heard(libraries, bytes(data[: len(data) - cut]))
    except BadRequest as refused:
        assert refused.code in ("invalid_audio", "audio_too_long", "audio_too_short")
    else:
        assert LEAST <= len(found) <= SECONDS * RATE
        assert np.isfinite(found).all()


# Rates.


def floats(samples: Any, rate: int) -> bytes:
    return file(form(3, 1, rate, 32), samples.astype("<f4").tobytes())


def sweep(rate: int, highest: float, seconds: float = 1.0) -> Any:
    """A sine that rises to `highest` Hz, as it is at any rate; it comes and goes slowly."""
    time = np.arange(round(seconds * rate)) / rate
    loudness = np.sin(np.pi * np.minimum(1, np.minimum(time, seconds - time) / 0.1) / 2) ** 2
    return 0.5 * loudness * np.sin(2 * np.pi * (20 * time + (highest - 20) / seconds * time**2 / 2))


def decibels(wanted: Any, found: Any) -> float:
    return float(10 * np.log10(np.sum(wanted**2) / np.sum((wanted - found) ** 2)))


PAIRS = [
    *((rate, 16000) for rate in (8000, 11025, 22050, 24000, 32000, 44100, 48000, 88200, 96000, 192000, 384000)),
    *((rate, 16000) for rate in (15999, 16001, 44101, 12347)),
    (16000, 48000),
    (44100, 48000),
    (48000, 44100),
    (4000, 16000),
]


@pytest.mark.parametrize(("rate", "to"), PAIRS)
def test_a_sweep_is_the_same_at_another_rate(rate: int, to: int, libraries: Path) -> None:
    highest = 0.9 * min(rate, to) / 2
    found = heard(libraries, floats(sweep(rate, highest), rate), to)
    wanted = sweep(to, highest)
    assert len(found) == len(wanted)
    assert decibels(wanted, found) > 75


@pytest.mark.parametrize(
    ("rate", "up", "down"), [(44100, 160, 441), (48000, 1, 3), (8000, 2, 1), (22050, 320, 441)]
)
def test_as_scipy_resamples(rate: int, up: int, down: int, libraries: Path) -> None:
    """Its own filter is short; up to where that shows, and with a longer one, there is no difference."""
    low = sweep(rate, 0.7 * min(rate, RATE) / 2)
    assert decibels(signal.resample_poly(low, up, down), heard(libraries, floats(low, rate))) > 55
    most = max(up, down)
    long = signal.firwin(2 * 64 * most + 1, 0.95 / most, window=("kaiser", 8.96))
    whole = sweep(rate, 0.9 * min(rate, RATE) / 2)
    theirs = signal.resample_poly(whole, up, down, window=long)
    found = heard(libraries, floats(whole, rate))
    assert found.shape == theirs.shape
    assert decibels(theirs, found) > 90


@pytest.mark.parametrize("rate", [44100, 48000, 44101])
def test_what_the_model_cannot_hear_is_gone(rate: int, libraries: Path) -> None:
    """A tone above half of the model's rate would come back as another one."""
    time = np.arange(rate) / rate
    high = np.sin(2 * np.pi * 9000 * time) * np.sin(np.pi * time) ** 2
    assert np.abs(heard(libraries, floats(high, rate))).max() < 1e-4
    assert heard(libraries, floats(np.ones(rate), rate))[2000:-2000] == pytest.approx(1, abs=1e-6)


def test_the_shortest_sounds_are_resampled(libraries: Path) -> None:
    for count in range(2, 40):
        found = heard(libraries, floats(np.ones(count), 8000))
        assert len(found) == 2 * count
