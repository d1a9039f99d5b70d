"""The function's files: as they were built, readable for Lambda's user, and nothing secret among them."""

import re
import stat
import zipfile
from pathlib import Path

from coldpress.doctor.case import Case
from coldpress.doctor.finding import Finding, few, green, red, yellow

#: for all: what a file, a folder and a program need
_READ, _ENTER = 0o444, 0o555
#: larger ones are weights; nobody keeps a password in them
_MOST_SCANNED = 4 << 20
#: of wheels that everybody can download: their examples hold keys that open nothing
_PUBLIC = ("packages", "lib", "licenses", "coldpress_runtime")
_SECRET_NAMES = re.compile(
    r"\.env(\..+)?|\.netrc|\.pypirc|\.npmrc|\.git-credentials|id_(rsa|dsa|ecdsa|ed25519)|credentials(\.json)?"
)
_HARMLESS_NAMES = (".env.example", ".env.sample", ".env.template")
_SECRETS = {
    "an AWS access key": re.compile(rb"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "an AWS secret key": re.compile(rb"(?i)aws_secret_access_key['\"]?\s*[=:]\s*['\"]?[A-Za-z0-9/+]{40}"),
    "a private key": re.compile(rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----"),
    "a GitHub token": re.compile(rb"\bgh[pousr]_[A-Za-z0-9]{36}\b"),
    "a Hugging Face token": re.compile(rb"\bhf_[A-Za-z]{34}\b"),
}
#: the one in AWS's own documentation
_EXAMPLES = (b"AKIAIOSFODNN7EXAMPLE",)


def unchanged(case: Case) -> Finding:
    name, changed = "files", case.artifact.changed_files()
    if not changed:
        return green(name, f"{len(case.artifact.manifest['files'])}, all as they were built")
    listed = case.artifact.manifest["files"]
    words = [f"{file} ({_what_happened(case, file, listed)})" for file in changed]
    return red(
        name,
        few(words),
        why="what was verified and measured is not what would be deployed",
        fix=f"coldpress build MODEL --out {case.artifact.path}",
    )


def readable(case: Case) -> Finding:
    """Lambda's user is nobody's owner: what others may not read, the function may not read."""
    name = "file modes"
    folders = [path for path in (case.function, *sorted(case.function.rglob("*"))) if path.is_dir()]
    wrong = [case.place(path) for path in folders if ~path.stat().st_mode & _ENTER]
    wrong += [case.place(path) for path in case.files if ~path.stat().st_mode & _needed(path.name)]
    packed = _unreadable_in(case.artifact.zip)
    if packed:
        return red(
            name,
            f"in function.zip: {few(packed)}",
            why="Lambda unpacks a zip with its modes and starts the function as another user: permission denied",
            fix=f"coldpress build MODEL --out {case.artifact.path} --package zip",
        )
    if not wrong:
        return green(name, "readable for all")
    fix = f"chmod -R a+rX {case.function} && chmod a+rx {case.function}/bootstrap"
    if case.artifact.zip is None and case.artifact.image is None:
        why = "Lambda starts the function as another user: permission denied"
        return red(name, f"not readable for all: {few(wrong)}", why=why, fix=fix)
    why = "the package that is there has modes of its own, but what is packed from this folder next will not start"
    return yellow(name, f"not readable for all: {few(wrong)}", why=why, fix=fix)


def secrets(case: Case) -> Finding:
    """Never the secret itself: this page is pasted into tickets."""
    name, found = "secrets", []
    for path in case.files:
        inside = path.relative_to(case.function)
        if inside.parts[0] in _PUBLIC:
            continue
        if _SECRET_NAMES.fullmatch(inside.name) and inside.name not in _HARMLESS_NAMES:
            found.append(f"{case.place(path)} (by its name)")
        elif path.stat().st_size <= _MOST_SCANNED:
            found += [f"{case.place(path)} ({kind})" for kind in secret_kinds(path.read_bytes())]
    if found:
        return red(
            name,
            few(found),
            why="whoever may read the function's code, or pull its image, has it",
            fix="take it out of the project's folder (and of `files` in coldpress.toml), build again, and replace "
            "the secret; the function reads it from AWS Secrets Manager, or its role has the permission itself",
        )
    return green(name, "none found")


def secret_kinds(data: bytes) -> list[str]:
    """What kinds of secrets lie in a file's bytes."""
    return [
        kind
        for kind, pattern in _SECRETS.items()
        if any(match[0] not in _EXAMPLES for match in pattern.finditer(data))
    ]


def _what_happened(case: Case, file: str, listed: dict[str, str]) -> str:
    if file not in listed:
        return "added"
    return "changed" if (case.artifact.path / file).exists() else "missing"


def _needed(name: str) -> int:
    return _ENTER if name == "bootstrap" else _READ


def _unreadable_in(package: Path | None) -> list[str]:
    """Entries of a zip whose modes are too strict; those without modes get good ones from Lambda."""
    if package is None:
        return []
    with zipfile.ZipFile(package) as archive:
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
    return [
        file
        for file, mode in modes.items()
        if mode and ~stat.S_IMODE(mode) & (_ENTER if file.endswith("/") else _needed(file))
    ]


CHECKS = [unchanged, readable, secrets]
