"""Pictures as Pillow and transformers' processors see them, to the bit; and those that lie."""

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

from coldpress.package.libraries import host_architecture, place_libraries
from coldpress.pictures import made_up, png
from coldpress_runtime.faults import BadRequest
from coldpress_runtime.pictures import Pictures

LIMIT = 2_000_000


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures") / "lib"
    place_libraries("none", ("pictures",), folder, host_architecture())
    return folder


def reader(libraries: Path, size: tuple[int, int], resize: dict[str, int] | None = None, by: int = 2) -> Pictures:
    spec = {"limits": {"pixels": LIMIT}, "resize": resize or {}, "filter": by, "size": size}
    return Pictures((str(libraries),), spec)


def whole(libraries: Path, data: bytes) -> Any:
    """A picture as it is, neither resized nor cropped."""
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    return as_array(reader(libraries, (upright.height, upright.width)).read(data, "image"), upright.size)


def as_array(pixels: bytes, size: tuple[int, int]) -> Any:
    return np.frombuffer(pixels, np.uint8).reshape(size[1], size[0], 3)


def expected(data: bytes) -> Any:
    return np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB"))


def saved(picture: Image.Image, kind: str, **settings: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **settings)
    return file.getvalue()


def kinds() -> dict[str, bytes]:
    """One of each kind that people send."""
    colours = Image.fromarray(made_up(1, seed=7)[0])
    grey = np.arange(120 * 90, dtype=np.uint16).reshape(90, 120) * 6
    rotated = Image.Exif()
    rotated[0x0112] = 6
    made = {
        "jpeg": saved(colours, "JPEG", quality=90),
        "jpeg 4:4:4": saved(colours, "JPEG", subsampling=0),
        "jpeg progressive": saved(colours, "JPEG", progressive=True),
        "jpeg grey": saved(colours.convert("L"), "JPEG"),
        "jpeg cmyk": saved(colours.convert("CMYK"), "JPEG"),
        "png": saved(colours, "PNG"),
        "png alpha": saved(colours.convert("RGBA"), "PNG"),
        "png grey": saved(colours.convert("L"), "PNG"),
        "png grey alpha": saved(colours.convert("LA"), "PNG"),
        "png palette": saved(colours.quantize(17), "PNG"),
        "png palette 256": saved(colours.quantize(256), "PNG", transparency=3),
        "png black and white": saved(colours.convert("1"), "PNG"),
        "png 16 bit grey": saved(Image.fromarray(grey), "PNG"),
        "png 16 bit": sixteen_bit(made_up(1, seed=8)[0]),
        "png rotated": saved(colours, "PNG", exif=rotated),
        "png odd": png(made_up(5, seed=9)[4]),
    }
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        made[f"jpeg exif {orientation}"] = saved(colours, "JPEG", exif=exif, quality=95)
    return made


def sixteen_bit(pixels: Any) -> bytes:
    height, width, _ = pixels.shape
    wide = (pixels.astype(">u2") * 257 - (pixels > 9)).astype(">u2")
    rows = b"".join(b"\0" + row.tobytes() for row in wide)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    return chunks(*parts)


def chunks(*parts: tuple[bytes, bytes]) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )


KINDS = kinds()


@pytest.mark.parametrize("kind", KINDS)
def test_decoded_as_by_pillow(kind: str, libraries: Path) -> None:
    data = KINDS[kind]
    assert np.array_equal(whole(libraries, data), expected(data))


@pytest.mark.parametrize("by", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize(
    "size", [(224, 224), (30, 17), (161, 120), (33, 400), (160, 50), (40, 120), (90, 100), (80, 80)]
)
def test_resized_as_by_pillow(by: int, size: tuple[int, int], libraries: Path) -> None:
    data = KINDS["png"]
    height, width = size
    ours = reader(libraries, size, {"height": height, "width": width}, by).read(data, "image")
    theirs = Image.open(io.BytesIO(data)).convert("RGB").resize((width, height), Image.Resampling(by))
    assert np.array_equal(as_array(ours, (width, height)), np.asarray(theirs))


SENT = ["jpeg", "png alpha", "jpeg grey", "jpeg exif 6", "png palette", "png 16 bit grey"]
PROCESSORS: dict[str, dict[str, Any]] = {
    "ViTImageProcessor": {},
    "DeiTImageProcessor": {},
    "CLIPImageProcessor": {},
    "SiglipImageProcessor": {},
    "BitImageProcessor": {"size": {"shortest_edge": 256}},
    "BeitImageProcessor": {},
    "ConvNextImageProcessor": {"size": {"shortest_edge": 224}},
    "MobileNetV2ImageProcessor": {},
    "EfficientNetImageProcessor": {"do_center_crop": True},
    "MobileViTImageProcessor": {},
}


@pytest.mark.parametrize("name", PROCESSORS)
@pytest.mark.parametrize(
    "kind", ["jpeg", "png alpha", "jpeg grey", "jpeg exif 6", "png palette", "png 16 bit grey"]
)
def test_made_ready_as_by_the_processor(name: str, kind: str, libraries: Path, tmp_path: Path) -> None:
    """Within a 255th per pixel is asked; the same bits are given."""
    import transformers

    from coldpress.intake.image import _affine, _sizes, load_processor

    getattr(transformers, f"{name}Pil")(**PROCESSORS[name]).save_pretrained(tmp_path)
    processor = load_processor(tmp_path)
    data = KINDS[kind]
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")
    theirs = processor(images=upright, return_tensors="np")["pixel_values"][0]
    resize, size = _sizes(processor, name)
    scale, shift, channels = _affine(processor, size, name)
    read = reader(libraries, size, resize, int(processor.resample)).read(data, "image")
    ours = as_array(read, (size[1], size[0])).transpose(2, 0, 1)[list(channels)].astype(np.float64)
    values = ours * np.array(scale)[:, None, None] + np.array(shift)[:, None, None]
    off = np.abs(values - theirs) / np.abs(np.array(scale))[:, None, None]
    assert off.mean() <= 0.01, "in steps of a 255th"


def test_a_header_that_promises_too_much_is_refused(libraries: Path) -> None:
    lie = struct.pack(">IIBBBBB", 400_000, 250_000, 8, 2, 0, 0, 0)
    data = (
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + lie + struct.pack(">I", zlib.crc32(b"IHDR" + lie))
    )
    data += struct.pack(">I", 0) + b"IDAT" + struct.pack(">I", zlib.crc32(b"IDAT"))
    with pytest.raises(BadRequest, match="400000 × 250000 pixels; the limit is 2000000"):
        reader(libraries, (8, 8)).read(data, "image[0]")


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_that_ends_too_early_is_refused(kind: str, libraries: Path) -> None:
    data = KINDS[kind]
    for part in (1, 9, len(data) // 3, len(data) // 2):
        with pytest.raises(BadRequest, match="image cannot be read"):
            reader(libraries, (8, 8)).read(data[:part], "image")


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(sorted(KINDS)),
    changes=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=8),
)
def test_broken_bytes_never_break_the_sandbox(
    kind: str, changes: list[tuple[float, int]], libraries: Path
) -> None:
    data = bytearray(KINDS[kind])
    for place, value in changes:
        data[int(place * (len(data) - 1))] = value
    try:
        made = reader(libraries, (16, 16), {"height": 16, "width": 16}).read(bytes(data), "image")
    except BadRequest as refused:
        assert "image cannot be read" in refused.message
    else:
        assert len(made) == 768


def test_other_files_are_named(libraries: Path) -> None:
    for data in (b"", b"GIF89a" + bytes(50), b"%PDF-1.7", bytes(100)):
        with pytest.raises(BadRequest, match="neither a JPEG nor a PNG"):
            reader(libraries, (8, 8)).read(data, "image")
