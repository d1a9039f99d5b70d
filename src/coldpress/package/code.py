"""A person's own code inside the function: what coldpress.toml names, and nothing that looks like a secret."""

import shutil
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from coldpress.errors import UsageError

#: never packed: what opens doors, and what other tools keep in folders
_SECRETS = (
    *(".env*", "*.pem", "*.key", "*.p12", "*.pfx", "id_rsa*", "id_ed25519*", "credentials*", "*.tfstate*"),
    *(".netrc", ".npmrc", ".pypirc", ".git", ".aws", ".ssh"),
)
#: not secret, only of no use
_USELESS = ("__pycache__", "*.pyc", ".*", "*.egg-info")


def place_code(folder: Path, names: tuple[str, ...], target: Path) -> list[str]:
    """Copy the files and folders `names` from the project's `folder`; returns the paths of all that was packed."""
    packed: set[str] = set()
    for name in names:
        plain = PurePosixPath(name)
        if plain.is_absolute() or ".." in plain.parts or not plain.parts:
            raise UsageError(f"{name!r} does not lie inside {folder}; only what is there can be packed")
        start = folder / plain
        if not start.exists():
            raise UsageError(f"{name!r} is to be packed and is not in {folder}")
        secret = next((part for part in plain.parts if _matches(part, _SECRETS)), None)
        if secret:
            raise UsageError(
                f"{name!r} looks like a secret ({secret}), and those are never packed: give it to the function as "
                "an environment variable, or fetch it from where secrets are kept"
            )
        for path in [start] if start.is_file() else sorted(start.rglob("*")):
            relative = path.relative_to(folder)
            if path.is_dir() or any(
                _matches(part, _SECRETS + _USELESS) for part in relative.parts[len(plain.parts) :]
            ):
                continue
            if not path.resolve().is_relative_to(folder.resolve()):
                raise UsageError(f"{relative} is a link that leads out of {folder}; copy what it leads to")
            (target / relative).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / relative)
            packed.add(relative.as_posix())
    return sorted(packed)


def _matches(part: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(part.lower(), pattern) for pattern in patterns)
