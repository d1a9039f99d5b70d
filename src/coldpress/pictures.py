"""Pictures made up where nobody gave any, and written as PNG: the same bytes on every machine."""

import struct
import zlib

import deflate
import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
#: height, width: upright, lying, square, small, and so small that it can be shown
SIZES = ((160, 120), (96, 144), (128, 128), (60, 80), (14, 18))


def made_up(count: int, seed: int) -> list[Pixels]:
    """Gradients, shapes, stripes and grain, so that no two look alike to a model that pools."""
    generator = np.random.default_rng(seed)
    return [_picture(*SIZES[at % len(SIZES)], generator) for at in range(count)]


def _picture(height: int, width: int, generator: np.random.Generator) -> Pixels:
    down, across = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j]
    picture = np.empty((height, width, 3))
    for channel in range(3):
        low, slope, tilt = generator.uniform(20, 200), *generator.uniform(-120, 120, 2)
        picture[..., channel] = low + slope * down + tilt * across
    for _ in range(generator.integers(2, 7)):
        y, x = generator.uniform(0, 1, 2)
        high, wide = generator.uniform(0.05, 0.4, 2)
        if generator.random() < 0.5:
            inside = (np.abs(down - y) < high) & (np.abs(across - x) < wide)
        else:
            inside = ((down - y) / high) ** 2 + ((across - x) / wide) ** 2 < 1
        picture[inside] = generator.uniform(0, 255, 3)
    turn, lean = generator.uniform(-1, 1, 2)
    waves = np.sin(generator.uniform(5, 60) * (down * turn + across * lean))
    picture += generator.uniform(0, 40) * waves[..., None]
    picture += generator.uniform(0, 25) * generator.standard_normal(picture.shape)
    return np.clip(np.rint(picture), 0, 255).astype(np.uint8)


def png(pixels: Pixels) -> bytes:
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", deflate.zlib_compress(rows, 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
