"""The press engine: a small C library, a model that is mapped and ready, its tokenizer inside."""

from _thread import allocate_lock, start_new_thread
from posix import sched_setaffinity

from coldpress_runtime.faults import EngineError, LoadError
from coldpress_runtime.libraries import find_library
from coldpress_runtime.native import Char, Float, Int32, addressof, byref, open_library, symbol
from coldpress_runtime.settings import own_cpus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _ctypes import Array, CFuncPtr
    from _thread import LockType
    from collections.abc import Sequence
    from typing import Any

    from coldpress_runtime.engines import Input

LIBRARY = "libpress.so"
_ERROR_SIZE = 256
_FLOAT_TEXT = 24
_NO_MEMORY = 2**64 - 1

#: The functions that are called, and how many arguments each takes.
_FUNCTIONS = {
    "press_open": 2,
    "press_start": 4,
    "press_stop": 1,
    "press_close": 1,
    "press_work": 1,
    "press_dimensions": 1,
    "press_max_tokens": 1,
    "press_per_token": 1,
    "press_has_tokenizer": 1,
    "press_tokenize": 6,
    "press_run": 7,
    "press_see": 5,
    "press_picture_bytes": 1,
    "press_json": 3,
}


class Engine:
    def __init__(self, folders: tuple[str, ...]) -> None:
        library = open_library(find_library(LIBRARY, folders))
        self._functions = Functions({name: symbol(library, name, arity) for name, arity in _FUNCTIONS.items()})
        self._functions.library = library

    def open(self, folder: str, spec: "dict[str, Any]", threads: int) -> "Session":
        return Session(self._functions, f"{folder}/{spec['model']}", threads, spec.get("frame"))


class Functions(dict[str, "CFuncPtr"]):
    """Those that every request needs; of one argument, also what few need, looked up when they do."""

    library = 0

    def __missing__(self, name: str) -> "CFuncPtr":
        found = self[name] = symbol(self.library, name, 1)
        return found


class Session:
    """One model, opened. Calls must not overlap: a sandbox has one request at a time."""

    def __init__(
        self, functions: Functions, path: str, threads: int, frame: "dict[str, Any] | None" = None
    ) -> None:
        self._frame = frame
        self._error = (Char * _ERROR_SIZE)()
        self._model = functions["press_open"](path.encode(), self._error)
        if not self._model:
            raise LoadError(f"{path}: {self._reason()}")
        self.handle = functions["press_start"](self._model, threads, None, self._error)
        if not self.handle:
            raise LoadError(f"{path}: {self._reason()}")
        self._functions = functions
        self._run = functions["press_run"]
        self._json = functions["press_json"]
        self._tokenize = functions["press_tokenize"]
        self._dimensions: int = functions["press_dimensions"](self._model)
        self._per_token: bool = bool(functions["press_per_token"](self._model))
        self._room: int = functions["press_max_tokens"](self._model)
        self._ids = (Int32 * self._room)()
        self._flat, self._starts = (Int32 * 1)(), (Int32 * 2)()
        cpus = own_cpus()
        self._lent: list[LockType] = []
        for number in range(1, threads):
            # The engine starts no threads of its own: it borrows ours, which sleep in C.
            until = allocate_lock()
            until.acquire()
            self._lent.append(until)
            cpu = cpus[number % max(1, len(cpus)) :][:1]
            start_new_thread(_lend, (functions["press_work"], self.handle, cpu, until))
        if threads > 1 and cpus:
            sched_setaffinity(0, cpus[:1])

    def encode(self, texts: list[str]) -> list[tuple[list[int], bool]]:
        """Token ids of each text, and whether it was cut to the model's length."""
        return [(self._ids[:kept], cut) for kept, cut in (self._tokens(text, self._ids) for text in texts)]

    def encode_spans(self, texts: list[str]) -> list[tuple[list[int], list[tuple[int, int]], bool]]:
        """As `encode`, and for each token the characters of the text that it stands for: from, to."""
        spans = (Int32 * (2 * self._room))()
        encoded = []
        for text in texts:
            kept, cut = self._tokens(text, self._ids, spans)
            encoded.append((self._ids[:kept], _pairs(spans, kept), cut))
        return encoded

    def parts(self, texts: list[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """Token ids of each text, whole and without a frame, with their spans."""
        assert self._frame is not None
        before, after = map(len, self._frame["single"])
        encoded = []
        for text in texts:
            room, cut = self._room, True
            while cut:
                ids, spans = (Int32 * room)(), (Int32 * (2 * room))()
                kept, cut = self._tokens(text, ids, spans)
                room *= 4
            encoded.append((ids[before : kept - after], _pairs(spans, kept)[before : kept - after]))
        return encoded

    def _tokens(self, text: str, ids: "Array[Int32]", spans: "Array[Int32] | None" = None) -> tuple[int, bool]:
        """Tokens of a text into arrays: how many, and whether there would have been more."""
        data = text.encode()
        count = self._tokenize(self._model, data, len(data), ids, spans, len(ids)) or 0
        if count == _NO_MEMORY:
            raise EngineError(f"not enough memory to tokenize a text of {len(data)} bytes")
        return min(count, len(ids)), count > len(ids)

    def run(self, batch: list[list[int]], types: "list[list[int]] | None" = None) -> "Output":
        """`types` says, for texts of two parts, which part each token belongs to."""
        starts = [0]
        flat: list[int] = []
        for ids in batch:
            flat += ids
            starts.append(len(flat))
        answers = len(flat) if self._per_token else len(batch)
        floats = bytearray(4 * answers * self._dimensions)
        self._flat, self._starts = _filled(self._flat, flat), _filled(self._starts, starts)
        types_in = None if types is None else b"".join(map(bytes, types))
        out = byref(Float.from_buffer(floats))
        if not self._run(self.handle, self._flat, types_in, self._starts, len(batch), out, self._error):
            raise EngineError(self._reason())
        return Output(floats, starts if self._per_token else range(len(batch) + 1), self._dimensions, self._json)

    @property
    def picture_bytes(self) -> int:
        """What a picture has, for a model that looks at them."""
        size: int = self._functions["press_picture_bytes"](self._model) or 0
        return size

    def see(self, pixels: bytes) -> bytearray:
        """Floats for pictures, one after the other."""
        if not self.picture_bytes or len(pixels) % self.picture_bytes:
            raise EngineError(f"{len(pixels)} bytes are not pictures of {self.picture_bytes} bytes each")
        count = len(pixels) // self.picture_bytes
        floats = bytearray(4 * count * self._dimensions * (self._room if self._per_token else 1))
        out = byref(Float.from_buffer(floats))
        if not self._functions["press_see"](self.handle, pixels, count, out, self._error):
            raise EngineError(self._reason())
        return floats

    def call(self, inputs: "Sequence[Input]") -> "list[Made]":
        """Pictures as a tensor of bytes, as other engines take them."""
        ((_, _, pixels),) = inputs
        return [Made(self.see(pixels))]

    @property
    def memory(self) -> int:
        """What it has of its own, beside the file, in bytes."""
        own: int = self._functions["press_memory"](self.handle)
        return own

    def close(self) -> None:
        """Give everything back; a sandbox does so for those of many models that it needs no more."""
        self._functions["press_quit"](self.handle)
        for thread in self._lent:  # one of them may only be on its way to the engine
            thread.acquire()
        self._functions["press_stop"](self.handle)
        self._functions["press_close"](self._model)

    def _reason(self) -> str:
        return bytes(self._error).split(b"\0", 1)[0].decode(errors="replace")


class Made:
    """Floats in our own memory, with the address that other engines' tensors have."""

    def __init__(self, floats: bytearray) -> None:
        self._floats = Float.from_buffer(floats)
        self.address: int = addressof(self._floats)

    def close(self) -> None:
        """Nothing to give back."""


def _lend(work: "CFuncPtr", session: int, cpu: list[int], until: "LockType") -> None:
    """Lend this thread, on a CPU of its own: else it may wake where its waker runs, and wait for it to end."""
    try:
        if cpu:
            sched_setaffinity(0, cpu)
        work(session)
    finally:
        until.release()


def _pairs(numbers: "Array[Int32]", count: int) -> list[tuple[int, int]]:
    return [*zip(numbers[: 2 * count : 2], numbers[1 : 2 * count : 2], strict=True)]


def _filled(array: "Array[Int32]", values: list[int]) -> "Array[Int32]":
    """`values` in `array`, or in a larger one. An array of just their length would be of a type of its own, and
    making a type for every length costs more than the copy, and memory until the collector comes by."""
    if len(values) > len(array):
        array = (Int32 * (1 << len(values).bit_length()))()
    array[: len(values)] = values  # type: ignore[assignment]  # it takes any integers
    return array


class Output:
    def __init__(self, floats: bytearray, starts: "list[int] | range", dimensions: int, json: "CFuncPtr") -> None:
        self._floats = floats
        self._starts = starts
        self._dimensions = dimensions
        self._json = json
        self._text: Array[Char] | None = None

    def row(self, at: int) -> tuple[int, int]:
        return self._starts[at] * self._dimensions, self._starts[at + 1] * self._dimensions

    def json(self, start: int, stop: int) -> str:
        count = stop - start
        if self._text is None or len(self._text) < _FLOAT_TEXT * count + 2:
            self._text = (Char * (_FLOAT_TEXT * count + 2))()
        size = self._json(byref(Float.from_buffer(self._floats, 4 * start)), count, self._text)
        if not size:
            raise EngineError("the model answered with a value that is not a finite number")
        return bytes(self._text)[:size].decode("ascii")

    def raw(self, start: int, stop: int) -> bytes:
        return bytes(memoryview(self._floats)[4 * start : 4 * stop])

    def close(self) -> None:
        """Nothing to give back: the floats are Python's own."""
