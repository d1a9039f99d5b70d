"""A sandbox's processes, as the event loop sees them: what their launcher tells, what they write, how they end."""

import asyncio
import os
import signal
import socket
import struct
import time
from typing import Any, Protocol

from coldpress.emulate.sandboxes.memory import Memory
from coldpress.emulate.world.namespaces import Spawned

_CREDENTIALS = struct.Struct("3i")
_NUMBER = struct.Struct("i")
#: Lambda cuts a line of a log there
_LONGEST_LINE = 262_144
_PIPE = 65536
#: bytes of a log that are read in one turn of the loop: who writes without end has others wait a millisecond
_TURN = 1024


class Watcher(Protocol):
    """Who is told."""

    def listening(self, listener: socket.socket) -> None: ...
    def born(self) -> None: ...
    def wrote(self, line: bytes) -> None: ...
    def exited(self, status: int) -> None: ...
    def gone(self) -> None: ...
    def cleared(self) -> None: ...


class Process:
    """Watches from the moment it is made. Calls `exited` once when the function ended, `gone` when all did."""

    def __init__(self, spawned: Spawned, watcher: Watcher) -> None:
        self._spawned = spawned
        self._watcher = watcher
        self._loop = asyncio.get_running_loop()
        self._used = Memory(spawned.group)
        self._used.stubs.add(spawned.process.pid)
        self._all: list[int] = []
        self._runtime: list[int] = []
        self._unread = b""
        self._is_gone = False
        self._was_killed = False
        #: what runs beside the function may go on when it ends
        self.leaving = False
        os.set_blocking(spawned.log, False)
        spawned.channel.setblocking(False)
        self._loop.add_reader(spawned.log, self._read_some, _TURN)
        self._loop.add_reader(spawned.channel, self._read_channel)

    def signal(self, number: signal.Signals, all_of_them: bool = True) -> None:
        """To the function with what it started, and to what runs beside it; or to the function alone."""
        for pid in self._all if all_of_them else self._runtime:
            try:
                os.killpg(pid, number)
            except (ProcessLookupError, PermissionError):
                continue

    def kill(self) -> None:
        """End all of it now."""
        if self._is_gone:  # others may have its numbers by now
            return
        self._was_killed = True
        if self._spawned.inside is not None:
            self._all += [pid for pid in self._spawned.inside() if pid not in self._all]
        for pid in [self._spawned.process.pid, *self._all]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def megabytes(self, field: bytes) -> float:
        """What is resident: now (VmRSS), or at the highest (VmHWM)."""
        return self._used.megabytes(field)

    def ran_out(self, status: int) -> bool:
        """Whether the kernel ended it for want of memory."""
        group, ask = self._spawned.group, self._spawned.ran_out
        if self._was_killed or self._is_gone:
            return False
        if ask is not None:
            return os.WIFEXITED(status) and os.WEXITSTATUS(status) == 128 + signal.SIGKILL and ask()
        return group is not None and os.WIFSIGNALED(status) and group.ran_out()

    def look_inside(self) -> float:
        """Find processes that somebody else started for us; since when they run, by time.monotonic()."""
        if self._spawned.inside is None:
            return 0.0
        found = self._spawned.inside()
        self._all += found
        self._used.named = found
        return _start_of(found[0]) if found else 0.0

    def read_log(self) -> None:
        """Hand on what was written so far: as much as the pipe holds, since who writes in a loop writes faster
        than we read."""
        left = _PIPE
        while left > 0 and (found := self._read_some(_PIPE // 4)):
            left -= found

    def _read_some(self, most: int) -> int:
        """The next bytes, line by line; how many there were."""
        try:
            data = b"" if self._is_gone else os.read(self._spawned.log, most)
        except OSError:  # nothing more, for now
            return 0
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            self._watcher.wrote(line)
        if len(self._unread) > _LONGEST_LINE:
            self._watcher.wrote(self._unread)
            self._unread = b""
        return len(data)

    def _read_channel(self) -> None:
        try:
            data, extra, _, _ = self._spawned.channel.recvmsg(1024, 256)
        except BlockingIOError:
            return
        except OSError:
            data, extra = b"", []
        match data[:1]:
            case b"L":
                rights = next(part for _, kind, part in extra if kind == socket.SCM_RIGHTS)
                self._watcher.listening(socket.socket(fileno=_NUMBER.unpack(rights[:4])[0]))
            case b"B" | b"P":
                self._all.append(_sender(extra))
                self._used.named.append(self._all[-1])
                if data == b"B":
                    self._runtime = self._all[-1:]
                    self._watcher.born()
            case b"I":
                self._used.stubs.add(_sender(extra))
            case b"X":
                self._watcher.exited(_NUMBER.unpack(data[1:5])[0])
                if not self.leaving:
                    self.kill()
            case b"E":
                self._watcher.wrote(b"[sandbox] " + data[1:])
            case _:
                self._end()

    def _end(self) -> None:
        """Nobody is left who could tell anything."""
        self._loop.remove_reader(self._spawned.channel)
        self._spawned.channel.close()
        if self._spawned.process.poll() is None:
            self.kill()
        self.read_log()
        if self._unread:
            self._watcher.wrote(self._unread)
        self._is_gone = True
        self._watcher.gone()
        self._loop.remove_reader(self._spawned.log)
        os.close(self._spawned.log)
        self._used.close()
        self._clear(300)

    def _clear(self, attempts: int) -> None:
        """Take away what the kernel keeps until the last process is really over."""
        ended = self._spawned.process.poll() is not None
        removed = self._spawned.group is None or self._spawned.group.remove()
        if (ended and removed) or attempts == 0:
            self._watcher.cleared()
        else:
            self._loop.call_later(0.01, self._clear, attempts - 1)


def _sender(extra: list[Any]) -> int:
    """The number, on this side, of the process that sent a message."""
    pid: int = next(_CREDENTIALS.unpack(part)[0] for _, kind, part in extra if kind == socket.SCM_CREDENTIALS)
    return pid


def _start_of(pid: int) -> float:
    """When a process began, by time.monotonic(), to the hundredth of a second."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - as in memory.py
            ticks = int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0.0
    since_boot = time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic() - (since_boot - ticks / os.sysconf("SC_CLK_TCK"))
