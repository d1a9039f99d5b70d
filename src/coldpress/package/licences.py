"""Licences of what a function carries: their texts travel with it, their names stand in the bill of materials."""

from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath

_WORDS = ("LICEN", "NOTICE", "COPYING")
_CLASSIFIER = "License :: OSI Approved :: "


def place_licences(folder: Path, packages: list[str]) -> None:
    """One file for each package, with all texts that it came with, or else what it says of itself."""
    folder.mkdir()
    for name in packages:
        found = distribution(name)
        texts = _texts(found) or [f"{name} {found.version}: {licence_of(name)}"]
        (folder / f"{name}.txt").write_text("\n\n".join(texts).rstrip() + "\n", encoding="utf-8")


def licence_of(package: str) -> str | None:
    """The name or expression that a package states; None if it states none, or is not installed here."""
    try:
        said = distribution(package).metadata
    except PackageNotFoundError:
        return None
    classified = [line.removeprefix(_CLASSIFIER) for line in said.get_all("Classifier", []) if _CLASSIFIER in line]
    words = ("License-Expression", "License")
    expression, plain = (next(iter(said.get_all(word, [])), "") for word in words)
    stated = expression or next(iter(classified), "") or plain
    return stated.splitlines()[0][:200] if stated.strip() else None


def _texts(found: Distribution) -> list[str]:
    texts = []
    for file in sorted(found.files or [], key=str):
        path = PurePosixPath(str(file))
        if any(word in path.name.upper() for word in _WORDS) and path.suffix in ("", ".txt", ".md", ".rst"):
            texts.append(Path(str(found.locate_file(file))).read_text(encoding="utf-8", errors="replace"))
    return texts
