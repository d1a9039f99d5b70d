"""ONNX Runtime through its C API: no numpy, no Python bindings, weights mapped from disk.

The C API is one table of function pointers whose order is frozen: an entry never moves once a
version has shipped it. The numbers below are places in that table.
"""

from posix import putenv

from coldpress_runtime.faults import EngineError, LoadError
from coldpress_runtime.libraries import find_library
from coldpress_runtime.native import CString, Float, Int64, Pointer, byref, function, open_library, symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _ctypes import Array, CFuncPtr
    from typing import Any

API_VERSION = 16  # all that is called here; every later ONNX Runtime still offers it

_GET_ERROR_MESSAGE = 2
_CREATE_ENV = 3
_CREATE_SESSION = 7
_RUN = 9
_CREATE_SESSION_OPTIONS = 10
_SET_GRAPH_OPTIMIZATION_LEVEL = 23
_SET_INTRA_OP_NUM_THREADS = 24
_SET_INTER_OP_NUM_THREADS = 25
_CREATE_TENSOR_WITH_DATA = 49
_GET_TENSOR_MUTABLE_DATA = 51
_CREATE_CPU_MEMORY_INFO = 69
_RELEASE_STATUS = 93
_RELEASE_VALUE = 96
_RELEASE_SESSION_OPTIONS = 100
_ADD_SESSION_CONFIG_ENTRY = 130

_LOG_ERRORS = 3
_INT64 = 7  # ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64
_DEVICE_ALLOCATOR = 0
_DEFAULT_MEMORY = 0
_OPTIMIZE_NOTHING = 0
_OPTIMIZE_BASIC = 1

LIBRARY = "libonnxruntime.so"


class Api:
    """The function table, each entry made callable when first used."""

    def __init__(self, library: str) -> None:
        # Read by the library when it loads; versions that have no telemetry ignore it.
        putenv("ORT_DISABLE_TELEMETRY", "1")
        base = symbol(open_library(library), "OrtGetApiBase", 0)()
        get_api = function(Pointer.from_address(base).value, 1)
        table = get_api(API_VERSION)
        if not table:
            raise LoadError(f"{library} does not offer version {API_VERSION} of the C API")
        self._table: int = table
        self._entries: dict[int, CFuncPtr] = {}

    def entry(self, place: int, arity: int) -> "CFuncPtr":
        found = self._entries.get(place)
        if found is None:
            address = Pointer.from_address(self._table + 8 * place).value
            found = self._entries[place] = function(address, arity)
        return found

    def call(self, place: int, *arguments: object) -> None:
        status = self.entry(place, len(arguments))(*arguments)
        if status:
            message = CString(self.entry(_GET_ERROR_MESSAGE, 1)(status)).value or b""
            self.release(_RELEASE_STATUS, status)
            raise EngineError(message.decode(errors="replace"))

    def create(self, place: int, *arguments: object) -> int:
        """Call an entry whose last argument receives the object that it makes."""
        made = Pointer()
        self.call(place, *arguments, byref(made))
        address: int = made.value or 0
        return address

    def release(self, place: int, thing: int) -> None:
        self.entry(place, 1)(thing)


class Engine:
    """The library, loaded, with the environment that all its sessions share."""

    def __init__(self, folders: tuple[str, ...]) -> None:
        self._api = Api(find_library(LIBRARY, folders))
        self._env = self._api.create(_CREATE_ENV, _LOG_ERRORS, b"coldpress")

    def open(self, folder: str, spec: "dict[str, Any]", threads: int) -> "Session":
        path = f"{folder}/{spec['model']}"
        try:
            return Session(self._api, self._env, path, spec, threads)
        except EngineError as error:
            raise LoadError(f"{path} cannot be opened: {error}") from None


class Session:
    """One model, opened. `run` may be called by several threads at once."""

    def __init__(self, api: Api, env: int, path: str, spec: "dict[str, Any]", threads: int) -> None:
        self._api = api
        self._pad: int = spec["pad_id"]
        self._dimensions: int = spec["dimensions"]
        self._pooled: bool = spec["pooling"] != "none"
        options = api.create(_CREATE_SESSION_OPTIONS)
        api.call(_SET_INTRA_OP_NUM_THREADS, options, threads)
        api.call(_SET_INTER_OP_NUM_THREADS, options, 1)
        # The graph was optimized when it was built; what may be left is to fold what is stored in halves.
        api.call(_SET_GRAPH_OPTIMIZATION_LEVEL, options, _OPTIMIZE_BASIC if spec["fold"] else _OPTIMIZE_NOTHING)
        # A sandbox is frozen between requests: a spinning thread only burns the caller's time.
        api.call(_ADD_SESSION_CONFIG_ENTRY, options, b"session.intra_op.allow_spinning", b"0")
        self._session = api.create(_CREATE_SESSION, env, path.encode(), options)
        api.release(_RELEASE_SESSION_OPTIONS, options)
        self._memory = api.create(_CREATE_CPU_MEMORY_INFO, _DEVICE_ALLOCATOR, _DEFAULT_MEMORY)
        names: list[str] = spec["inputs"]
        self._input_names = (CString * len(names))(*[name.encode() for name in names])
        self._output_names = (CString * 1)(spec["output"].encode())

    def run(self, batch: list[list[int]]) -> "Output":
        """Run texts of token ids, the shorter ones padded to the longest."""
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
        lengths = [1 if self._pooled else len(one) for one in batch]
        made = self._run([ids, mask], (len(batch), longest))
        return Output(self._api, made, lengths, self._dimensions, 1 if self._pooled else longest)

    def _run(self, inputs: list[list[int]], shape: tuple[int, ...]) -> int:
        """Run the graph on int64 inputs, all of one shape; returns the tensor that it makes."""
        api = self._api
        dims = (Int64 * len(shape))(*shape)
        buffers = [(Int64 * len(values))(*values) for values in inputs]
        values = (Pointer * len(inputs))()
        made = (Pointer * 1)()
        try:
            for at, buffer in enumerate(buffers):
                values[at] = api.create(
                    _CREATE_TENSOR_WITH_DATA,
                    self._memory,
                    buffer,
                    8 * len(buffer),
                    dims,
                    len(shape),
                    _INT64,
                )
            api.call(
                _RUN,
                self._session,
                None,
                self._input_names,
                values,
                len(inputs),
                self._output_names,
                1,
                made,
            )
        finally:
            for value in values:
                if value:
                    api.release(_RELEASE_VALUE, value)
        tensor: int = made[0]
        return tensor


class Output:
    """A tensor of float32 that the engine made, readable until it is closed."""

    def __init__(self, api: Api, value: int, lengths: list[int], dimensions: int, step: int) -> None:
        self._api = api
        self._value = value
        self._lengths = lengths  # rows that each text has,
        self._step = step  # and rows that lie between one text and the next: padding counts here
        self._dimensions = dimensions
        self._format = ""
        self._data: int = api.create(_GET_TENSOR_MUTABLE_DATA, value)

    def row(self, at: int) -> tuple[int, int]:
        start = at * self._step * self._dimensions
        return start, start + self._lengths[at] * self._dimensions

    def _slice(self, start: int, stop: int) -> "Array[Float]":
        return (Float * (stop - start)).from_address(self._data + 4 * start)

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
        self._api.release(_RELEASE_VALUE, self._value)
