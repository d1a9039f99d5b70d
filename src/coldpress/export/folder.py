"""Writing the files, and never over what somebody changed: a record has the hashes of what was written."""

import hashlib
import json
import os
import shutil
from pathlib import Path

from coldpress.errors import TargetError

RECORD = ".coldpress-export.json"


def write(out: Path, files: dict[str, str | Path], *, force: bool) -> list[Path]:
    """Each file by its name: a text, or the file to copy. Others that lie there are left alone."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise TargetError(f"{out} is not a folder; choose another --out")
    wanted = {name: _hash_of(content) for name, content in files.items()}
    before = _record(out)
    if not force:
        _check(out, before, wanted)
    out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        _place(out / name, content)
    for name in sorted((before or {}).keys() - wanted.keys()):  # of another package or wish
        (out / name).unlink(missing_ok=True)
    _place(out / RECORD, json.dumps({"files": wanted}, indent=1, sort_keys=True) + "\n")
    return [out / name for name in files]


def _check(out: Path, before: dict[str, str] | None, wanted: dict[str, str]) -> None:
    if before is None:
        if out.is_dir() and any(out.iterdir()):
            raise TargetError(
                f"{out} holds files that export did not write, and is left alone: choose another --out, or say "
                f"--force, which replaces {', '.join(wanted)} there"
            )
        return
    changed = []
    for name in sorted(before.keys() | wanted.keys()):
        if (out / name).exists() and _hash_of(out / name) not in (before.get(name), wanted.get(name)):
            changed.append(name)
    if changed:
        raise TargetError(
            f"{', '.join(changed)} in {out} was changed since it was exported, and is left alone: choose another "
            f"--out, or say --force to replace it"
        )


def _record(out: Path) -> dict[str, str] | None:
    """None: there is none."""
    try:
        found: dict[str, str] = json.loads((out / RECORD).read_text(encoding="utf-8"))["files"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TargetError(f"{out / RECORD} cannot be read ({error}): delete it, and say --force") from None
    return {name: value for name, value in found.items() if Path(name).name == name}


def _hash_of(content: str | Path) -> str:
    if isinstance(content, str):
        return hashlib.sha256(content.encode()).hexdigest()
    with content.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _place(path: Path, content: str | Path) -> None:
    """Whole or not at all."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        if isinstance(content, str):
            partial.write_text(content, encoding="utf-8", newline="\n")
        else:
            shutil.copyfile(content, partial)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise TargetError(f"{path} cannot be written: {error.strerror}; choose another --out") from None
