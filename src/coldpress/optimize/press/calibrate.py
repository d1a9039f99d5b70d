"""What each layer reads when the model runs on sample texts: the engine itself looks, in floats."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from coldpress.optimize.press.file import FLOAT_LINEAR, Floats, Op, PressFile
from coldpress.package.libraries import host_architecture, own_library
from coldpress_runtime.engines.press import LIBRARY, Engine
from coldpress_runtime.native import open_library, symbol

MOST_BYTES = 400_000_000


#: token ids and types of texts, or pictures as pixels
Texts = list[tuple[list[int], list[int]]]
Samples = Texts | bytes


class Calibration:
    """A float model opened by the engine, in the folder `work`, and the samples that it is run on."""

    def __init__(self, file: PressFile, samples: Samples, work: Path) -> None:
        self._file = file
        self._samples = samples
        (work / LIBRARY).write_bytes(own_library("press", host_architecture()))
        file.write(work / "float.press")
        threads = os.cpu_count() or 1
        self._session = Engine((str(work),)).open(str(work), {"model": "float.press"}, threads)
        self._tokens = self._count()
        library = open_library(str(work / LIBRARY))
        self._observe = symbol(library, "press_observe", 2)

    def _count(self) -> int:
        """Rows that a layer reads in all."""
        if isinstance(self._samples, bytes):
            return len(self._samples) // self._session.picture_bytes * self._file.max_tokens
        return sum(len(ids) for ids, _ in self._samples)

    def inputs(self, layers: list[Op]) -> Iterator[tuple[Op, Floats]]:
        """Each of `layers` with the rows that it reads, as many layers at a time as memory allows."""
        uses: dict[int, list[int]] = {}
        for at, op in enumerate(self._file.ops):
            if op.kind == FLOAT_LINEAR:
                uses.setdefault(id(op), []).append(at)
        waiting = list(layers)
        while waiting:
            some: list[Op] = []
            size = 0
            while waiting and (not some or size <= MOST_BYTES):
                some.append(waiting.pop(0))
                size += 4 * self._tokens * some[-1].inputs * len(uses[id(some[-1])])
            rows = {at: np.empty((self._tokens, op.inputs), np.float32) for op in some for at in uses[id(op)]}
            self._look(rows)
            for op in some:
                yield op, np.concatenate([rows.pop(at) for at in uses[id(op)]])

    def _look(self, rows: dict[int, Floats]) -> None:
        places = np.zeros(len(self._file.ops), np.uint64)
        for at, array in rows.items():
            places[at] = array.ctypes.data
        self._observe(self._session.handle, places.ctypes.data)
        if isinstance(self._samples, bytes):
            self._session.see(self._samples)
        else:
            self._session.run([ids for ids, _ in self._samples], [types for _, types in self._samples])
        self._observe(self._session.handle, None)

    def close(self) -> None:
        self._session.close()
