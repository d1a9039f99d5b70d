"""Writing a folder whole or not at all: made beside its place, then moved there in one step."""

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from time import time

from coldpress.artifact import MANIFEST
from coldpress.errors import TargetError

_JUST_MADE = 10.0  # seconds: between making a folder and holding it somebody might look
_FULL = 1024 * 1024  # a disk with less than this left is what broke the build, whatever the error says


@contextlib.contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """A fresh folder to write to, which becomes `out` when the block ends well and vanishes otherwise."""
    out = Path(os.path.abspath(out))  # noqa: PTH100 - resolve() would follow a link that out itself may be
    _check(out)
    staging = out.parent / f".{out.name}.{os.getpid()}.partial"
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(out)
        staging.mkdir()
        held = _hold(staging)
    except OSError as error:
        raise TargetError(f"cannot write beside {out}: {error.strerror}; choose another --out") from None
    try:
        yield staging
        _check(out)
        _move(staging, out)
    except BaseException as error:
        full = _is_full(staging, error)
        shutil.rmtree(staging, ignore_errors=True)
        if full:
            raise TargetError(
                f"the disk that holds {out.parent} is full ({full} MB left); "
                "make room, or choose an --out on another disk"
            ) from error
        raise
    finally:
        if held is not None:
            os.close(held)


def _check(out: Path) -> None:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise TargetError(f"{out} is not a folder; choose another --out")
    try:
        foreign = out.is_dir() and any(out.iterdir()) and not (out / MANIFEST).is_file()
    except OSError as error:
        raise TargetError(f"{out} cannot be read: {error.strerror}; choose another --out") from None
    if foreign:
        raise TargetError(
            f"{out} holds files and no {MANIFEST}, so it is not an artifact and is left alone; "
            "choose another --out, or empty it"
        )


def _move(staging: Path, out: Path) -> None:
    if not out.exists():
        staging.rename(out)
        return
    old = out.parent / f".{out.name}.{os.getpid()}.old.partial"
    out.rename(old)
    try:
        staging.rename(out)
    except BaseException:
        old.rename(out)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _remove_abandoned(out: Path) -> None:
    """What builds that were killed left here."""
    for path in out.parent.glob(f".{out.name}.*.partial"):
        pid = path.name.removeprefix(f".{out.name}.").split(".")[0]
        if pid.isdecimal() and (not _is_running(int(pid)) or _let_go(path)):
            shutil.rmtree(path, ignore_errors=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _hold(folder: Path) -> int | None:
    """Lock a folder for as long as this process lives and the handle is open; None if somebody else holds it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _let_go(folder: Path) -> bool:
    """Whether nobody holds a folder whose process seems to run: the number was given to another one since."""
    try:
        if time() - folder.stat().st_mtime < _JUST_MADE:
            return False
        handle = _hold(folder)
    except OSError:
        return False
    if handle is not None:
        os.close(handle)
    return handle is not None


def _is_full(staging: Path, error: BaseException) -> str | None:
    if not isinstance(error, Exception):
        return None
    free = shutil.disk_usage(staging).free
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"{free / 1e6:.1f}"
        cause = cause.__cause__ or cause.__context__
    return f"{free / 1e6:.1f}" if free < _FULL else None
