"""What a sandbox's processes have resident. Read after every invocation, so files stay open and are read anew."""

import os
import time

from coldpress.emulate.world.cgroups import Group

#: children that come and go faster are not looked for
_LIST_EVERY = 0.05


class Memory:
    """Of the processes in a group, or of those that were named where there is no group."""

    def __init__(self, group: Group | None) -> None:
        self._list = os.open(group.doors[0], os.O_RDONLY) if group is not None else -1
        self._files: dict[int, int] = {}
        self._last = b""
        self._listed_at = 0.0
        self._pids: list[int] = []
        #: the launcher and the first process inside: ours, not the function's
        self.stubs: set[int] = set()
        self.named: list[int] = []

    def megabytes(self, field: bytes) -> float:
        """VmRSS: now. VmHWM: the highest so far of each."""
        pids = self.named if self._list < 0 else self._listed()
        return sum(self._one(pid, field) for pid in pids if pid not in self.stubs)

    def _listed(self) -> list[int]:
        now = time.monotonic()
        if now - self._listed_at < _LIST_EVERY:
            return self._pids
        self._listed_at = now
        text = _again(self._list)
        if text != self._last:  # it is the same nearly always
            self._last, self._pids = text, [int(line) for line in text.split()]
            for pid in self._files.keys() - set(self._pids):
                os.close(self._files.pop(pid))
        return self._pids

    def close(self) -> None:
        for file in [*self._files.values(), *([self._list] if self._list >= 0 else [])]:
            os.close(file)
        self._files.clear()
        self._list = -1
        self.named = []

    def _one(self, pid: int, field: bytes) -> float:
        file = self._files.get(pid)
        if file is None:
            try:
                file = self._files[pid] = os.open(f"/proc/{pid}/status", os.O_RDONLY)
            except OSError:  # it has just ended
                return 0.0
        text = _again(file)
        at = text.find(field)
        if at < 0:
            os.close(self._files.pop(pid))
            return 0.0
        return int(text[at + len(field) + 1 : text.find(b"kB", at)]) / 1024


def _again(file: int) -> bytes:
    try:
        return os.pread(file, 8192, 0)
    except OSError:  # whom it tells of has ended
        return b""
