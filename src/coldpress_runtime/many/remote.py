"""Models that lie in S3: fetched into /tmp in parts, several at a time, each part checked by its hash.

Nothing is ever opened that does not hash as it did when the function was built. What is fetched stays until its
room is needed; what a process before this one left in /tmp is hashed again.
"""

import os
from hashlib import sha256  # OpenSSL's: quicker over megabytes, and loaded for TLS anyway
from threading import Thread

from coldpress_runtime.aws.client import AwsError
from coldpress_runtime.aws.s3 import Bucket, parts
from coldpress_runtime.faults import LoadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

ROOM = "/tmp/coldpress"  # noqa: S108 - a sandbox's own, and the only place that it can write to
#: connections at a time
_AT_ONCE = 4


class Remote:
    """The models below `store`, s3://bucket/prefix, each file under its own hash."""

    def __init__(self, store: str, room: str = ROOM) -> None:
        self._bucket, _, prefix = store.removeprefix("s3://").partition("/")
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._room = room
        #: names of those that this process has checked, the latest used last
        self._checked: dict[str, None] = {}

    def folder(self, name: str, files: "dict[str, Any]", spec: str, in_use: "Callable[[], list[str]]") -> str:
        """Where the model lies, fetched if need be. `spec` is its task.json; those `in_use` are kept."""
        folder = f"{self._room}/{name}"
        if name in self._checked:
            del self._checked[name]
        elif not all(_is_right(f"{folder}/{file}", one) for file, one in files.items()):
            os.makedirs(folder, exist_ok=True)
            self._clear(name, sum(one["bytes"] for one in files.values()), {name, *in_use()})
            for file, one in files.items():
                self._fetch(name, file, one, folder)
            with open(f"{folder}/task.json", "w", encoding="utf-8") as target:
                target.write(spec)
        self._checked[name] = None
        return folder

    def _fetch(self, name: str, file: str, one: "dict[str, Any]", folder: str) -> None:
        key = f"{self._prefix}{one['key']}"
        place = f"s3://{self._bucket}/{key}"
        beside = f"{folder}/.{file}.part"
        bucket = Bucket(self._bucket)
        try:
            found = bucket.look(key)
        except AwsError as error:
            raise LoadError(f"the model {name!r} cannot be fetched: {error}") from None
        finally:
            bucket.close()
        if found is None:
            raise LoadError(
                f"the model {name!r} is not at {place}: deploy the function again, which puts it there"
            )
        size, tag = found
        if size != one["bytes"]:
            raise LoadError(
                f"the model {name!r} is refused: {place} has {size:,} bytes, and {one['bytes']:,} when the "
                "function was built: deploy it again"
            )
        target = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            self._fetch_parts(f"the model {name!r}", key, tag, one, target)
        finally:
            os.close(target)
        os.rename(beside, f"{folder}/{file}")

    def _fetch_parts(self, what: str, key: str, tag: str, one: "dict[str, Any]", target: int) -> None:
        waiting = [*zip(parts(one["bytes"], one["part"]), one["sha256"], strict=True)]
        troubles: list[Exception] = []

        def work() -> None:
            bucket = Bucket(self._bucket)
            try:
                while waiting and not troubles:
                    try:
                        (first, size), right = waiting.pop()
                    except IndexError:  # another thread was quicker
                        break
                    data = bucket.get_part(key, first, size, tag)
                    if len(data) != size or sha256(data).hexdigest() != right:
                        raise LoadError(
                            f"{what} is refused: bytes {first:,} to {first + size:,} of s3://{self._bucket}/{key} "
                            f"hash to {sha256(data).hexdigest()[:12]}…, and to {right[:12]}… when the function "
                            "was built: deploy it again"
                        )
                    os.pwrite(target, data, first)
            except Exception as trouble:
                troubles.append(trouble)
            finally:
                bucket.close()

        threads = [Thread(target=work) for _ in range(min(_AT_ONCE, len(waiting)) - 1)]
        for thread in threads:
            thread.start()
        work()
        for thread in threads:
            thread.join()
        if troubles:
            trouble = troubles[0]
            raise trouble if isinstance(trouble, LoadError) else LoadError(f"{what} cannot be fetched: {trouble}")

    def _clear(self, name: str, wanted: int, kept: "set[str]") -> None:
        """Room on the disk: what was used longest ago goes, and what nobody knows of before that."""
        order = [*self._checked]
        others = [entry.name for entry in os.scandir(self._room) if entry.name not in kept]
        others.sort(key=lambda other: order.index(other) if other in order else -1)
        while (free := self._free()) < wanted:
            if not others:
                raise LoadError(
                    f"the model {name!r} has {wanted / 1e6:.0f} MB, and /tmp has {free / 1e6:.0f} MB left: give "
                    "the function more of it (deploy --tmp)"
                )
            other = others.pop(0)
            self._checked.pop(other, None)
            for entry in os.scandir(f"{self._room}/{other}"):
                os.unlink(entry.path)
            os.rmdir(f"{self._room}/{other}")

    def _free(self) -> int:
        disk = os.statvfs(self._room)
        return disk.f_bavail * disk.f_frsize


def _is_right(path: str, one: "dict[str, Any]") -> bool:
    """Whether a file is there that was fetched before, whole."""
    try:
        if os.stat(path).st_size != one["bytes"]:
            return False
        with open(path, "rb") as file:
            return all(
                sha256(file.read(size)).hexdigest() == right
                for (_, size), right in zip(parts(one["bytes"], one["part"]), one["sha256"], strict=True)
            )
    except OSError:
        return False
