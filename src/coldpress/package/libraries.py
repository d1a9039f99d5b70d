"""The native parts that a function carries, taken from the pinned wheels that are installed here."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from coldpress.errors import MissingExtra
from coldpress.package.elf import strip

#: engine → (file in lib/, wheel, a part of the file's name inside the wheel)
PARTS = {
    "onnxruntime": (
        ("libonnxruntime.so", "onnxruntime", "capi/libonnxruntime.so."),
        ("tokenizers.abi3.so", "tokenizers", "tokenizers.abi3.so"),
    ),
}


def place_libraries(engine: str, folder: Path) -> dict[str, str]:
    """Write the engine's libraries into `folder`, stripped; say which versions they are."""
    folder.mkdir()
    versions = {}
    for name, wheel, part in PARTS[engine]:
        source, versions[wheel] = _find(wheel, part)
        (folder / name).write_bytes(strip(source.read_bytes()))
    return versions


def _find(wheel: str, part: str) -> tuple[Path, str]:
    try:
        found = distribution(wheel)
    except PackageNotFoundError:
        raise MissingExtra("export", wheel, "packing the engine") from None
    for file in found.files or []:
        if part in str(file):
            return Path(str(found.locate_file(file))), found.version
    raise MissingExtra("export", wheel, f"packing {part} (this {wheel} {found.version} has none)")
