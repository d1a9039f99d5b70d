"""The native parts that a function carries: our own, and those of the pinned wheels that are installed here."""

import platform
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path

from coldpress.errors import ColdpressError, MissingExtra
from coldpress.package.elf import strip
from coldpress.package.torch_packages import place_torch
from coldpress.package.wheels import file_in_wheel

ARCHITECTURES = ("x86_64", "arm64")
_HOSTS = {"amd64": "x86_64", "aarch64": "arm64"}


def host_architecture() -> str:
    machine = platform.machine().lower()
    return _HOSTS.get(machine, machine)


def place_libraries(engine: str, beside: tuple[str, ...], folder: Path, arch: str) -> dict[str, str]:
    """Write the engine's libraries for `arch` into `folder`, and those `beside` it; say their versions."""
    folder.mkdir()
    versions = {}
    if engine == "press":
        (folder / "libpress.so").write_bytes(strip(own_library("press", arch)))
    if engine == "onnxruntime":
        data, versions["onnxruntime"] = _from_wheel("onnxruntime", "capi/libonnxruntime.so.", arch)
        (folder / "libonnxruntime.so").write_bytes(strip(data))
    if engine == "torch":
        versions |= place_torch(folder / "python", arch)
    if "pictures" in beside:
        (folder / "libpictures.so").write_bytes(strip(own_library("pictures", arch)))
        for name, part in (("libjpeg.so", "pillow.libs/libjpeg-"), ("libpng.so", "pillow.libs/libpng16-")):
            data, versions["pillow"] = _from_wheel("pillow", part, arch)
            (folder / name).write_bytes(strip(data))
    if "sounds" in beside:
        (folder / "libsounds.so").write_bytes(strip(own_library("sounds", arch)))
    if "tokenizers" in beside:
        data, versions["tokenizers"] = _from_wheel("tokenizers", "tokenizers.abi3.so", arch)
        (folder / "tokenizers.abi3.so").write_bytes(strip(data))
    return versions


#: what it takes to compile each library of our own, and what to do without it
_NEEDS = {
    "press": "gcc and install it again, or use --engine onnxruntime",
    "pictures": "gcc, libjpeg-dev and libpng-dev, and install it again, or use --task tensors",
    "sounds": "gcc and install it again, or use --task tensors",
}


def own_library(name: str, arch: str) -> bytes:
    """A library of our own for an architecture, as it was compiled when coldpress was installed."""
    library = files("coldpress.package").joinpath(f"press/lib{name}-{arch}.so")
    if not library.is_file():
        raise ColdpressError(
            f"this coldpress was installed without the {name} library for {arch}: install {_NEEDS[name]}"
        )
    return library.read_bytes()


def _from_wheel(wheel: str, part: str, arch: str) -> tuple[bytes, str]:
    if arch != host_architecture():
        return file_in_wheel(wheel, part, arch)
    try:
        found = distribution(wheel)
    except PackageNotFoundError:
        raise MissingExtra("export", wheel, "packing the engine") from None
    for file in found.files or []:
        if part in str(file):
            return Path(str(found.locate_file(file))).read_bytes(), found.version
    raise MissingExtra("export", wheel, f"packing {part} (this {wheel} {found.version} has none)")
