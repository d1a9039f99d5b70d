"""What a graph with one input and one output answers: rows of floats."""

from coldpress_runtime.faults import EngineError
from coldpress_runtime.native import read_memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from coldpress_runtime.engines import Input


def rows(session: "Any", read: "Input", count: int, dimensions: int) -> list[list[float]]:
    size = 4 * dimensions
    (made,) = session.call([read])
    try:
        answer = read_memory(made.address, size * count)
    finally:
        made.close()
    found = []
    for at in range(count):
        values: list[Any] = memoryview(answer)[at * size : at * size + size].cast("f").tolist()
        if not all(value - value == 0 for value in values):
            raise EngineError("the model answered with a value that is not a finite number")
        found.append(values)
    return found
