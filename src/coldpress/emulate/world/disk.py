"""Temporary files as Lambda has them: a small disk of the sandbox's own, gone with it, that is not its memory.

The disk is a file without a name that holds an ext4, mounted by the sandbox itself: whatever happens, nothing is
left to clean up.
"""

import os
import shutil
import subprocess
import tempfile

_MB = 1024 * 1024


class Disks:
    """Makes disks of one size: formatted once, then copied, which for an empty one is half a megabyte."""

    def __init__(self, megabytes: int) -> None:
        self._size = megabytes * _MB
        self._parts: list[tuple[int, bytes]] = []
        with tempfile.NamedTemporaryFile() as template:
            template.truncate(self._size)
            options = ["-q", "-m", "0", "-O", "^has_journal", "-E", "lazy_itable_init=1,root_owner=993:990"]
            mkfs = shutil.which("mkfs.ext4", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
            if mkfs is None:
                raise FileNotFoundError("mkfs.ext4")
            subprocess.run(
                [mkfs, *options, template.name], check=True, capture_output=True, stdin=subprocess.DEVNULL
            )
            self._parts = [*_written(template.fileno(), self._size)]

    def make(self) -> int:
        """A descriptor of a new disk, which the caller closes."""
        file = os.open(tempfile.gettempdir(), os.O_TMPFILE | os.O_RDWR, 0o600)
        try:
            os.ftruncate(file, self._size)
            for at, data in self._parts:
                os.pwrite(file, data, at)
        except OSError:
            os.close(file)
            raise
        return file


def _written(file: int, size: int) -> list[tuple[int, bytes]]:
    """The parts of a sparse file that hold anything."""
    parts, at = [], 0
    while at < size:
        try:
            start = os.lseek(file, at, os.SEEK_DATA)
        except OSError:  # nothing but holes from here on
            break
        at = os.lseek(file, start, os.SEEK_HOLE)
        parts.append((start, os.pread(file, at - start, start)))
    return parts
