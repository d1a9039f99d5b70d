"""The command's work: the stack of a wish, written by one of the writers, with a README beside it."""

from collections.abc import Callable
from pathlib import Path

from coldpress.artifact import ZIP
from coldpress.deploy.wanted import Wanted
from coldpress.errors import UsageError
from coldpress.export import cdk, cloudformation, sam, terraform
from coldpress.export.folder import write
from coldpress.export.model import stack
from coldpress.export.readme import README, readme
from coldpress.export.stack import Stack

WRITERS: dict[str, Callable[[Stack], dict[str, str]]] = {
    "sam": sam.files,
    "cloudformation": cloudformation.files,
    "terraform": terraform.files,
    "cdk-python": cdk.files,
}


def export(kind: str, wanted: Wanted, out: Path | None = None, *, force: bool = False) -> list[Path]:
    """The files that were written; by default to NAME-KIND in the current folder."""
    folder = out or Path(f"{wanted.name}-{kind}")
    return write(folder, contents(kind, wanted), force=force)


def contents(kind: str, wanted: Wanted) -> dict[str, str | Path]:
    """Each file by its name: a text, or the file that it is a copy of."""
    if kind not in WRITERS:
        raise UsageError(f"{kind!r} is no kind of export; it can be: {', '.join(WRITERS)}")
    made = stack(wanted)
    files: dict[str, str | Path] = {**WRITERS[kind](made), README: readme(kind, made)}
    return {**files, ZIP: made.zip} if made.zip else files
