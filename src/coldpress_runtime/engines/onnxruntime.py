"""ONNX Runtime through its C API: no numpy, no Python bindings, weights mapped from disk.

The C API is one table of function pointers whose order is frozen: an entry never moves once a
version has shipped it. The numbers below are places in that table.
"""

from posix import putenv

from coldpress_runtime.faults import EngineError, LoadError
from coldpress_runtime.libraries import find_library
from coldpress_runtime.native import CString, Int32, Int64, Pointer, byref, function, open_library, symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _ctypes import CFuncPtr
    from collections.abc import Sequence
    from typing import Any

    from coldpress_runtime.engines import Input

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
_GET_ELEMENT_TYPE = 60
_COUNT_DIMENSIONS = 61
_GET_DIMENSIONS = 62
_GET_TYPE_AND_SHAPE = 65
_CREATE_CPU_MEMORY_INFO = 69
_RELEASE_STATUS = 93
_RELEASE_MEMORY_INFO = 94
_RELEASE_SESSION = 95
_RELEASE_VALUE = 96
_RELEASE_TYPE_AND_SHAPE = 99
_RELEASE_SESSION_OPTIONS = 100
_ADD_SESSION_CONFIG_ENTRY = 130

_LOG_ERRORS = 3
_DEVICE_ALLOCATOR = 0
_DEFAULT_MEMORY = 0

#: ONNX_TENSOR_ELEMENT_DATA_TYPE_…
_TYPES = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "bool": 9,
    "float16": 10,
    "float64": 11,
}

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
    """One model, opened. `call` may be used by several threads at once."""

    def __init__(self, api: Api, env: int, path: str, spec: "dict[str, Any]", threads: int) -> None:
        self._api = api
        options = api.create(_CREATE_SESSION_OPTIONS)
        api.call(_SET_INTRA_OP_NUM_THREADS, options, threads)
        api.call(_SET_INTER_OP_NUM_THREADS, options, 1)
        # The graph was optimized when it was built; what may be left is said in task.json.
        api.call(_SET_GRAPH_OPTIMIZATION_LEVEL, options, spec["level"])
        # A sandbox is frozen between requests: a spinning thread only burns the caller's time.
        api.call(_ADD_SESSION_CONFIG_ENTRY, options, b"session.intra_op.allow_spinning", b"0")
        self._session = api.create(_CREATE_SESSION, env, path.encode(), options)
        api.release(_RELEASE_SESSION_OPTIONS, options)
        self._memory = api.create(_CREATE_CPU_MEMORY_INFO, _DEVICE_ALLOCATOR, _DEFAULT_MEMORY)
        inputs: list[str] = spec["graph_inputs"]
        outputs: list[str] = spec["graph_outputs"]
        self._input_names = (CString * len(inputs))(*[name.encode() for name in inputs])
        self._output_names = (CString * len(outputs))(*[name.encode() for name in outputs])

    def call(self, inputs: "Sequence[Input]") -> "list[Tensor]":
        """Run the graph; what it makes must be closed."""
        api = self._api
        values = (Pointer * len(inputs))()
        made = (Pointer * len(self._output_names))()
        try:
            for at, (kind, shape, buffer) in enumerate(inputs):
                dims = (Int64 * len(shape))(*shape)
                values[at] = api.create(
                    _CREATE_TENSOR_WITH_DATA,
                    self._memory,
                    buffer,
                    memoryview(buffer).nbytes,
                    dims,
                    len(shape),
                    _TYPES[kind],
                )
            api.call(
                _RUN,
                self._session,
                None,
                self._input_names,
                values,
                len(inputs),
                self._output_names,
                len(self._output_names),
                made,
            )
        finally:
            for value in values:
                if value:
                    api.release(_RELEASE_VALUE, value)
        return [Tensor(api, value) for value in made]

    def close(self) -> None:
        self._api.release(_RELEASE_SESSION, self._session)
        self._api.release(_RELEASE_MEMORY_INFO, self._memory)


class Tensor:
    """What the engine made, readable until it is closed."""

    def __init__(self, api: Api, value: int) -> None:
        self._api = api
        self._value = value
        self.address: int = api.create(_GET_TENSOR_MUTABLE_DATA, value)

    def form(self) -> tuple[str, list[int]]:
        """The type and the shape."""
        api = self._api
        info = api.create(_GET_TYPE_AND_SHAPE, self._value)
        try:
            kind, rank = Int32(), Int64()
            api.call(_GET_ELEMENT_TYPE, info, byref(kind))
            api.call(_COUNT_DIMENSIONS, info, byref(rank))
            dims = (Int64 * rank.value)()
            api.call(_GET_DIMENSIONS, info, dims, rank.value)
        finally:
            api.release(_RELEASE_TYPE_AND_SHAPE, info)
        names = [name for name, number in _TYPES.items() if number == kind.value]
        if not names:
            raise EngineError(f"the model answered with a tensor of ONNX type {kind.value}")
        return names[0], dims[:]

    def close(self) -> None:
        self._api.release(_RELEASE_VALUE, self._value)
