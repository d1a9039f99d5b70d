"""PyTorch as a function carries it: the packages that are installed here, without what only developers need."""

import shutil
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath

from coldpress.errors import MissingExtra, UnsupportedModel

#: torch imports no other package than these when it loads and runs a TorchScript archive
PACKAGES = ("torch", "typing_extensions")
#: looked for when torch is imported, and never started by us
_NEEDED = PurePosixPath("torch/bin/torch_shm_manager")
#: headers, test programs, compilers of other formats: a third of it
_LEFT_OUT = ("torch/bin", "torch/include", "torch/share", "torch/test")


def place_torch(folder: Path, arch: str) -> dict[str, str]:
    """Copy torch into `folder`; returns the versions."""
    from coldpress.package.libraries import host_architecture

    if arch != host_architecture():
        raise UnsupportedModel(f"a torch function is built on the architecture that it is for; this is no {arch}")
    versions = {}
    for package in PACKAGES:
        try:
            found = distribution(package)
        except PackageNotFoundError:
            raise MissingExtra("export", package, "packing the engine") from None
        versions[package] = found.version
        for file in found.files or []:
            path = PurePosixPath(str(file))
            if ".." in path.parts or not _wanted(path):
                continue
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(found.locate_file(file)), target)
    return versions


def _wanted(path: PurePosixPath) -> bool:
    if path.suffix in (".pyc", ".a", ".h", ".pyi", ".cmake") or "dist-info" in path.parts[0]:
        return False
    return path == _NEEDED or not any(path.is_relative_to(folder) for folder in _LEFT_OUT)
