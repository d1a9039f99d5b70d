"""Texts of several lengths on an engine that takes whole tensors: the shorter ones are padded to the longest."""

from coldpress_runtime.faults import EngineError
from coldpress_runtime.native import Float, Int64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _ctypes import Array
    from typing import Any

    from coldpress_runtime.engines import Tensor, TensorSession


class Session:
    def __init__(self, session: "TensorSession", spec: "dict[str, Any]") -> None:
        self._session = session
        self._pad: int = spec["pad_id"]
        self._dimensions: int = spec["dimensions"]
        self._pooled: bool = spec["pooling"] != "none"

    def run(self, batch: list[list[int]]) -> "Output":
        longest = max(map(len, batch))
        ids: list[int] = []
        mask: list[int] = []
        for one in batch:
            padding = longest - len(one)
            ids += one
            mask += [1] * len(one)
            if padding:
                ids += [self._pad] * padding
                mask += [0] * padding
        shape = (len(batch), longest)
        filled = [("int64", shape, (Int64 * len(values))(*values)) for values in (ids, mask)]
        (made,) = self._session.call(filled)
        lengths = [1 if self._pooled else len(one) for one in batch]
        return Output(made, lengths, self._dimensions, 1 if self._pooled else longest)


class Output:
    """A tensor of float32 that the engine made, readable until it is closed."""

    def __init__(self, tensor: "Tensor", lengths: list[int], dimensions: int, step: int) -> None:
        self._tensor = tensor
        self._lengths = lengths  # rows that each text has,
        self._step = step  # and rows that lie between one text and the next: padding counts here
        self._dimensions = dimensions
        self._format = ""

    def row(self, at: int) -> tuple[int, int]:
        start = at * self._step * self._dimensions
        return start, start + self._lengths[at] * self._dimensions

    def _slice(self, start: int, stop: int) -> "Array[Float]":
        return (Float * (stop - start)).from_address(self._tensor.address + 4 * start)

    def json(self, start: int, stop: int) -> str:
        if len(self._format) != 5 * (stop - start) - 1:
            # Nine significant digits read back as the same float32, always.
            self._format = ("%.9g," * (stop - start))[:-1]
        text = self._format % tuple(self._slice(start, stop)[:])
        if "n" in text:  # nan or inf
            raise EngineError("the model answered with a value that is not a finite number")
        return f"[{text}]"

    def raw(self, start: int, stop: int) -> bytes:
        return bytes(self._slice(start, stop))

    def close(self) -> None:
        self._tensor.close()
