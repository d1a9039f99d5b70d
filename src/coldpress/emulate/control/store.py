"""Deployed functions on disk: FOLDER/functions/NAME.json, FOLDER/mappings/UUID.json and FOLDER/code/SHA256.

One function is one file, and a change of it is one rename: it has happened or it has not, whatever comes between.
So is an event source mapping, which outlives its function, as on Lambda. Code lies unpacked under the hash of its
zip, so that versions share it.
"""

import fcntl
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar

from coldpress.errors import ColdpressError, UsageError

_FORMAT = 1
_PARTIAL = ".partial-"
_HASH = re.compile(r"[0-9a-f]{64}")

_State = TypeVar("_State")
#: a FunctionConfiguration, less what is known only when it is asked for
Config = dict[str, Any]


@dataclass
class Function:
    """All that was ever said of one function."""

    name: str
    #: by version, $LATEST among them
    versions: dict[str, Config]
    #: the number that the last version got; a deleted one's is not used again
    published: int = 0
    #: the rest by alias, or by whatever qualifier they hang on
    aliases: dict[str, dict[str, Any]] = field(default_factory=dict)
    urls: dict[str, dict[str, Any]] = field(default_factory=dict)
    provisioned: dict[str, dict[str, Any]] = field(default_factory=dict)
    policies: dict[str, dict[str, Any]] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    reserved: int | None = None


@dataclass(frozen=True)
class Mapping:
    """An event source mapping: which queue feeds which function, and how."""

    uuid: str
    queue: str
    function: str
    qualifier: str
    enabled: bool
    size: int
    window: int
    concurrency: int | None
    reports: bool
    modified: float


class Store:
    """The functions of one folder, which nobody else may have open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._states = self.folder / "functions"
        self._code = self.folder / "code"
        self._mappings = self.folder / "mappings"
        try:
            self._code.mkdir(parents=True, exist_ok=True)
            self._states.mkdir(exist_ok=True, mode=0o700)  # variables may be secrets
        except OSError as error:
            raise UsageError(f"{folder} cannot keep functions ({error.strerror}): name another folder") from None
        self._lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise UsageError(
                f"{folder} is in use by another local Lambda: end that one, or name another folder"
            ) from None
        #: code that is unpacked and not yet anybody's, or whose sandboxes still run
        self._held: Counter[str] = Counter()
        try:
            for kept in (self._states, self._mappings, self._code):
                for left in kept.glob(f"{_PARTIAL}*"):
                    shutil.rmtree(left) if left.is_dir() else left.unlink()
            self.functions = {path.stem: _read(path, Function) for path in sorted(self._states.glob("*.json"))}
            self.mappings = {path.stem: _read(path, Mapping) for path in sorted(self._mappings.glob("*.json"))}
            self.sweep()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        os.close(self._lock)

    def save(self, function: Function) -> None:
        """Whole or not at all."""
        _write(self._states / f"{function.name}.json", function)
        self.functions[function.name] = function

    def remove(self, name: str) -> None:
        del self.functions[name]
        (self._states / f"{name}.json").unlink()
        settle(self._states)

    def save_mapping(self, mapping: Mapping) -> None:
        self._mappings.mkdir(exist_ok=True)
        _write(self._mappings / f"{mapping.uuid}.json", mapping)
        self.mappings[mapping.uuid] = mapping

    def remove_mapping(self, uuid: str) -> None:
        del self.mappings[uuid]
        (self._mappings / f"{uuid}.json").unlink()
        settle(self._mappings)

    # code

    def code(self, digest: str) -> Path:
        """Where the code with this SHA-256, in hexadecimal, is or would be."""
        return self._code / digest

    def staging(self) -> Path:
        made = self._code / f"{_PARTIAL}{token_hex(8)}"
        made.mkdir()
        return made

    @contextmanager
    def holding(self, digest: str) -> Iterator[None]:
        """Keep code while the block runs, though no function has it."""
        self.hold(digest)
        try:
            yield
        finally:
            self.let_go(digest)

    def hold(self, digest: str) -> None:
        self._held[digest] += 1

    def let_go(self, digest: str) -> None:
        self._held[digest] -= 1
        if self._held[digest] <= 0:
            del self._held[digest]
            self.sweep()

    def sweep(self) -> None:
        """Remove code that no version has and no sandbox runs."""
        wanted = {digest_of(one) for function in self.functions.values() for one in function.versions.values()}
        for folder in self._code.iterdir():
            if _HASH.fullmatch(folder.name) and folder.name not in wanted and folder.name not in self._held:
                shutil.rmtree(folder, ignore_errors=True)

    @property
    def code_size(self) -> int:
        """Of all versions, as Lambda counts it: zipped, shared code as often as it is used."""
        return sum(
            int(one["CodeSize"]) for function in self.functions.values() for one in function.versions.values()
        )


def digest_of(config: Config) -> str:
    """The code of a version, in hexadecimal: its folder's name."""
    from base64 import b64decode

    return b64decode(config["CodeSha256"]).hex()


def settle(folder: Path) -> None:
    """Make a rename last."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(path: Path, state: "Function | Mapping") -> None:
    """Beside, then in one rename."""
    beside = path.with_name(f"{_PARTIAL}{token_hex(8)}")
    try:
        with beside.open("w", encoding="utf-8") as file:
            json.dump({"format": _FORMAT, **asdict(state)}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        beside.rename(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    settle(path.parent)


def _read(path: Path, kind: type[_State]) -> _State:
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        made = state.pop("format")
        if made == _FORMAT:
            return kind(**state)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ColdpressError(
            f"{path} is not a {kind.__name__.lower()}'s state ({error}): it was changed by hand; "
            "remove it and deploy again"
        ) from None
    raise ColdpressError(f"{path} has format {made!r} and this coldpress reads {_FORMAT}: update coldpress")
