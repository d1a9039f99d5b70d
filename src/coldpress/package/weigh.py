"""What weighs what in a function, before and after compression, against Lambda's limits."""

import zipfile
from dataclasses import dataclass
from pathlib import Path

import deflate

from coldpress.artifact import LAYER_ZIP, ZIP, Artifact
from coldpress.package.oci.blobs import MOST_BYTES
from coldpress.package.oci.image import layer_of
from coldpress.package.pack import DIRECT_ZIP, ENGINE, IN_LAYER, UNZIPPED

_QUICK = 6  # a guess at what a package would have takes no more than this level


@dataclass(frozen=True)
class Weight:
    """A file, or many small ones together."""

    part: str
    name: str
    bytes: int
    packed: int


@dataclass(frozen=True)
class Limit:
    what: str
    bytes: int
    most: int

    @property
    def kept(self) -> bool:
        return self.bytes <= self.most


def weigh(artifact: Artifact) -> list[Weight]:
    """By part of the function, the heaviest first; the runtime's hundred files count as one."""
    packed = _packed(artifact)
    found: dict[tuple[str, str], list[int]] = {}
    for path in sorted(artifact.function_folder.rglob("*")):
        if not path.is_file():
            continue
        name = path.relative_to(artifact.function_folder).as_posix()
        part = layer_of(name.partition("/")[0])
        together = "runtime" if part == "runtime" else _folder_of_wheel(name)
        sizes = found.setdefault((part, together), [0, 0])
        sizes[0] += path.stat().st_size
        sizes[1] += packed[name] if name in packed else _guessed(path)
    weights = [Weight(part, name, *sizes) for (part, name), sizes in found.items()]
    return sorted(weights, key=lambda one: (-one.bytes, one.name))


def limits(artifact: Artifact) -> list[Limit]:
    """Those that the packages of this artifact have to keep."""
    sizes = artifact.manifest["sizes"]
    found = []
    if sizes["zip"]:
        found += [Limit(ZIP, sizes["zip"], DIRECT_ZIP), Limit("unzipped", sizes["function"], UNZIPPED)]
    if sizes.get("layer"):
        found.append(Limit(LAYER_ZIP, sizes["layer"], DIRECT_ZIP))
    if "image" in artifact.manifest:
        found.append(Limit("image, unpacked", artifact.manifest["image"]["unpacked"], MOST_BYTES))
    return found or [Limit("unzipped", sizes["function"], UNZIPPED)]


def _packed(artifact: Artifact) -> dict[str, int]:
    """What each file has in the zips, by its place in the function."""
    found: dict[str, int] = {}
    for name, prefix in ((ZIP, ""), (LAYER_ZIP, f"{IN_LAYER}/")):
        path = artifact.path / name
        if path.exists():
            with zipfile.ZipFile(path) as archive:
                for entry in archive.infolist():
                    inside = entry.filename.removeprefix(prefix)
                    found[f"{ENGINE}/{inside}" if prefix else inside] = entry.compress_size
    return found


def _guessed(path: Path) -> int:
    data = path.read_bytes()
    return min(len(data), len(deflate.deflate_compress(data, _QUICK)))


def _folder_of_wheel(name: str) -> str:
    """Packages of others count as one each."""
    parts = name.split("/")
    at = parts.index("python") + 2 if "python" in parts[:-1] else 2 if parts[0] == "packages" else len(parts)
    return "/".join(parts[:at])
