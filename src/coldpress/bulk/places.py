"""What a person names as FROM and --to: patterns of files, here or in a bucket."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from coldpress.bulk.job import OWN, Input
from coldpress.bulk.store import tag_of
from coldpress.deploy.places import BUCKET
from coldpress.errors import UsageError

_WILD = re.compile(r"[*?]")
_ALL = "**/*.jsonl"


@dataclass(frozen=True)
class Pattern:
    """`*` and `?` stay inside a folder, `**` crosses them. `base` is what every match begins with."""

    base: str
    rest: str

    @classmethod
    def parse(cls, text: str) -> "Pattern":
        """One that names a folder means all *.jsonl below it."""
        text = text + _ALL if not text or text.endswith("/") else text
        wild = _WILD.search(text)
        cut = text.rfind("/", 0, wild.start() if wild else len(text)) + 1
        return cls(text[:cut], text[cut:])

    def name_of(self, key: str) -> str | None:
        """What follows the base; None where it does not match."""
        name = key[len(self.base) :]
        return name if key.startswith(self.base) and name and self._regex().fullmatch(name) else None

    def _regex(self) -> "re.Pattern[str]":
        made = ""
        for token in re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", self.rest):
            wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
            made += wild.get(token) or re.escape(token)
        return re.compile(made, re.DOTALL)


@dataclass(frozen=True)
class Bucketed:
    """A place in a bucket."""

    bucket: str
    key: str

    @classmethod
    def parse(cls, flag: str, text: str) -> "Bucketed":
        bucket, _, key = text.removeprefix("s3://").partition("/")
        if not text.startswith("s3://") or not BUCKET.fullmatch(bucket):
            raise UsageError(
                f"{flag} {text!r} is no place in a bucket, as s3://bucket/prefix/ (a bucket's name has 3 to 63 "
                "small letters, digits, dots and hyphens); for files here say --local DIR"
            )
        return cls(bucket, key)

    @property
    def below(self) -> str:
        """As the beginning of keys."""
        return f"{self.key.rstrip('/')}/" if self.key.strip("/") else ""

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"


@dataclass(frozen=True)
class Places:
    """Where jobs read and write, for those who allow it once and not for each job."""

    source: Bucketed
    to: Bucketed

    @classmethod
    def parse(cls, source: str | None, to: str | None) -> "Places | None":
        if source is None and to is None:
            return None
        if source is None or to is None:
            raise UsageError("--map-from and --map-to belong together: where jobs read, and where they write")
        return cls(Bucketed.parse("--map-from", source), Bucketed.parse("--map-to", to))


def local_inputs(text: str, to: Path) -> tuple[Path, list[Input]]:
    """The files that a pattern names, or a folder's *.jsonl, and the folder that their names begin in."""
    if text.startswith("s3://"):
        raise UsageError(f"{text!r} is in a bucket, and --local reads this machine's files: leave out --local DIR")
    pattern = Pattern.parse(f"{text.rstrip('/')}/" if Path(text).is_dir() else text)
    base, out = Path(pattern.base or "."), to.resolve()
    if base.resolve() == out:
        raise UsageError(
            f"--to {to} is where the inputs are: choose another folder, since answers have their inputs' names"
        )
    found = []
    for folder, folders, files in os.walk(base):
        here = Path(folder)
        inside = here.relative_to(base)
        deeper = "**" in pattern.rest or len(inside.parts) < pattern.rest.count("/")
        # What the job itself writes is never its input.
        folders[:] = [one for one in folders if deeper and one != OWN and (here / one).resolve() != out]
        for file in files:
            name = pattern.name_of(pattern.base + (inside / file).as_posix())
            if name is not None:
                found.append(local_input(name, here / file))
    return base, some(found, text)


def local_input(name: str, path: Path) -> Input:
    about = path.stat()
    return Input(name, name, about.st_size, tag_of(about))


def some(found: list[Input], text: str) -> list[Input]:
    if not found:
        raise UsageError(
            f"no file is named by {text!r}: quote the pattern; * stays in a folder, ** crosses folders"
        )
    return sorted(found, key=lambda one: one.name)
