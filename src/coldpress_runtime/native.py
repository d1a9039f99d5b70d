"""The few parts of ctypes that the engines need, over `_ctypes` alone.

`import ctypes` costs 3 to 6 ms of a cold start (os, struct, dozens of type definitions);
`_ctypes` is the same machinery for a tenth of that.
"""

from _ctypes import CFuncPtr, _SimpleCData, addressof, byref, dlopen, dlsym

__all__ = [
    "LAZY",
    "NOW",
    "VISIBLE",
    "CString",
    "Char",
    "Float",
    "Int32",
    "Int64",
    "Pointer",
    "addressof",
    "byref",
    "function",
    "give_memory_back",
    "open_library",
    "read_memory",
    "symbol",
]

_CDECL = 1
#: how a library is opened: its symbols looked up one by one, or all at once; and seen by libraries that come later
LAZY, NOW, VISIBLE = 1, 2, 0x100


class Pointer(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "P"


class CString(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "z"


class Char(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "c"


class Int32(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "i"


class Int64(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "q"


class Float(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "f"


_prototypes: dict[int, type[CFuncPtr]] = {}


def function(address: int, arity: int) -> CFuncPtr:
    """A C function of `arity` arguments, each of which fits a general register.

    Integers, enums, sizes, pointers, bytes and arrays all pass through a pointer-sized
    argument on x86-64 and aarch64, so one prototype per arity is enough.
    """
    prototype = _prototypes.get(arity)
    if prototype is None:
        body = {"_flags_": _CDECL, "_restype_": Pointer, "_argtypes_": (Pointer,) * arity}
        prototype = _prototypes[arity] = type("Function", (CFuncPtr,), body)
    return prototype(address)


def read_memory(address: int, size: int) -> bytes:
    return bytes((Char * size).from_address(address)) if size else b""


def open_library(path: str, how: int = NOW) -> int:
    return dlopen(path, how)


def symbol(library: int, name: str, arity: int) -> CFuncPtr:
    return function(dlsym(library, name), arity)


def give_memory_back() -> None:
    """What was freed in small pieces goes back to the system, which the C library would not do by itself."""
    try:
        symbol(
            dlopen(None, LAZY),  # type: ignore[arg-type]  # None: the process itself
            "malloc_trim",
            1,
        )(0)
    except OSError:  # another C library than glibc
        return
