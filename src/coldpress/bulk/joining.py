"""Parts of one file's answers become one file, in order, as they come: nothing is on the disk twice for long."""

import shutil
from pathlib import Path

from coldpress.bulk.job import Chunk
from coldpress.bulk.ledger import Ledger


class Joining:
    """The answers to one input. A part is deleted once it is in the file that grows, and never before."""

    def __init__(self, chunks: list[Chunk], ledger: Ledger, final: Path, parts: Path) -> None:
        self._chunks = chunks
        self._ledger = ledger
        self.final = final
        self._parts = parts
        name = chunks[0].input.name
        self._growing = parts / name / "joined"
        self._joined = 0
        self._named = False
        self._go_on()

    def is_whole(self) -> bool:
        return self._named

    def is_done(self, chunk: Chunk) -> bool:
        """Whether its answers are there: in the file already, or as the part that the ledger knows."""
        if chunk.number < self._joined:
            return True
        known = self._ledger.done.get(chunk.part)
        try:
            return known is not None and (self._parts / chunk.part).stat().st_size == known.size
        except FileNotFoundError:
            return False

    def advance(self) -> None:
        """Take in what is next, as far as it is there; the last part makes the file known by its name."""
        if self.is_whole():
            return
        self._growing.parent.mkdir(parents=True, exist_ok=True)
        with self._growing.open("ab") as file:
            while self._joined < len(self._chunks) and self.is_done(self._chunks[self._joined]):
                path = self._parts / self._chunks[self._joined].part
                with path.open("rb") as part:
                    shutil.copyfileobj(part, file, 1 << 20)
                file.flush()
                self._joined += 1
                path.unlink()
        if self._joined == len(self._chunks):
            self.final.parent.mkdir(parents=True, exist_ok=True)
            self._growing.replace(self.final)
            self._named = True
            shutil.rmtree(self._parts / self._chunks[0].input.name, ignore_errors=True)

    def _go_on(self) -> None:
        """After an interruption: what is beyond the last whole part is cut off, since that part is still there."""
        sizes = [self._ledger.done.get(chunk.part) for chunk in self._chunks]
        if self.final.exists() and all(sizes):
            if self.final.stat().st_size == sum(one.size for one in sizes if one):
                self._joined, self._named = len(self._chunks), True
            return
        if not self._growing.exists():
            return
        has, kept = self._growing.stat().st_size, 0
        for one in sizes:
            if one is None or kept + one.size > has:
                break
            kept += one.size
            self._joined += 1
        with self._growing.open("ab") as file:
            file.truncate(kept)
