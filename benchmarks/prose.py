"""Prose that people wrote, in many scripts: Debian's manual pages in translation.

Packages are downloaded with apt and unpacked beside the project, never installed.
"""

import gzip
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent.parent / ".cache" / "manpages"
LANGUAGES = ["manpages"] + [
    f"manpages-{code}"
    for code in "cs da de el es fr hu it ja mk nl pl pt-br ro ru sr sv tr uk vi zh".split()  # noqa: SIM905
]
MOST_PER_LANGUAGE = 400_000


class NoProse(Exception):
    """Why there is none."""


@cache
def paragraphs() -> tuple[str, ...]:
    """Paragraphs of all languages in turn; downloaded once."""
    by_language = [_read(_cached(name)) for name in LANGUAGES]
    longest = max(map(len, by_language))
    return tuple(texts[at] for at in range(longest) for texts in by_language if at < len(texts))


def _cached(package: str) -> Path:
    target = FOLDER / f"{package}.txt"
    if not target.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        target.write_text(_download(package), encoding="utf-8")
    return target


def _read(path: Path) -> list[str]:
    return [text for text in path.read_text(encoding="utf-8").split("\n\n") if text]


def _download(package: str) -> str:
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise NoProse("apt and dpkg are not there to fetch manual pages with")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["apt-get", "download", "-q", package], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise NoProse(f"apt-get download {package}: {done.stderr.strip()[-200:]}")
        (archive,) = Path(folder).glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", archive, f"{folder}/files"], check=True)
        found, size = [], 0
        for page in sorted(Path(folder, "files/usr/share/man").rglob("*.gz")):
            if page.is_symlink() or size > MOST_PER_LANGUAGE:
                continue
            text = plain(gzip.decompress(page.read_bytes()).decode("utf-8", "replace"))
            found.append(text)
            size += len(text.encode())
    return "\n\n".join(found)


def plain(roff: str) -> str:
    """A manual page as paragraphs: commands end one, escapes go."""
    lines = []
    for line in roff.splitlines():
        if line.startswith((".B ", ".I ", ".BR ", ".IR ", ".SH ", ".SS ", ".BI ", ".TP ")):
            line = line.split(" ", 1)[1].replace('"', "")  # noqa: PLW2901
        elif line.startswith((".", "'")):
            line = ""  # noqa: PLW2901
        lines.append(line)
    text = "\n".join(lines)
    text = re.sub(r"\\f(\[\w*\]|\(..|.)|\\[&/,|^%:]|\\s[+-]?\d", "", text)
    text = re.sub(r"\\\*?\(..|\\\*?\[[^]]*\]", "", text.replace("\\-", "-").replace("\\(aq", "'")).replace(
        "\\", ""
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip()


if __name__ == "__main__":
    for language in LANGUAGES:
        print(language, len(_cached(language).read_bytes()))
    print(len(paragraphs()), "paragraphs,", sum(len(text.encode()) for text in paragraphs()), "bytes")
