"""What a function of others' packages has to carry, as pip would install it here."""

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from coldpress.errors import MissingPart

#: the versions that the peers were tried with
VERSIONS = {
    "awslambdaric": "4.2.2",
    "torch": "2.13.0",
    "transformers": "5.22.2",
    "onnx": "1.23.2",
    "onnxscript": "0.7.2",
    "onnxruntime": "1.27.0",
    "tokenizers": "0.23.3",
}


def need(peer: str, packages: Iterable[str]) -> None:
    """All of `packages` must be installed."""
    lost = [name for name in packages if not _is_here(name)]
    if lost:
        line = " ".join(f"{name}=={VERSIONS[name]}" for name in lost)
        raise MissingPart(f"--against {peer} needs {', '.join(lost)}, not installed here: pip install {line}")


def package_files(names: Iterable[str]) -> list[Path]:
    """The files of distributions and of all that they need, without bytecode."""
    files = [
        Path(str(file.locate())) for name in sorted(closure(names)) for file in distribution(name).files or []
    ]
    return [path for path in files if path.suffix != ".pyc" and path.is_file()]


def closure(names: Iterable[str]) -> set[str]:
    from packaging.requirements import Requirement

    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found or not _is_here(name):
            continue
        found.add(name)
        for line in distribution(name).requires or []:
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                waiting.append(needed.name.lower())
    return found


def _is_here(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
