"""Which stretches are answered: a line for each, written once its answers are safe."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from coldpress.errors import TargetError


@dataclass(frozen=True)
class Done:
    part: str
    #: of its answers
    size: int
    lines: int
    failed: int


class Ledger:
    """Of one job, on disk. A process that is killed leaves half a line at most, which is forgotten."""

    def __init__(self, path: Path) -> None:
        self.done: dict[str, Done] = {}
        self._file = path.open("a+b")
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        self._file.truncate(whole)
        for number, line in enumerate(content[:whole].splitlines(), 1):
            try:
                one = Done(**json.loads(line))
            except (ValueError, TypeError) as error:
                self.close()
                raise TargetError(
                    f"{path} is damaged at line {number} ({error}): delete it, and begin anew"
                ) from None
            self.done[one.part] = one

    def add(self, one: Done) -> None:
        os.write(self._file.fileno(), json.dumps(asdict(one)).encode() + b"\n")
        self.done[one.part] = one

    def close(self) -> None:
        self._file.close()
