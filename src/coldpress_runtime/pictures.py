"""Pictures of a request, decoded and fitted to what a model reads, in C; decoders are loaded when needed."""

from coldpress_runtime.faults import BadRequest
from coldpress_runtime.libraries import find_library
from coldpress_runtime.native import LAZY, NOW, VISIBLE, Char, open_library, symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIBRARY = "libpictures.so"
_ERROR_SIZE = 256
#: what picture_kind answers → the library that decodes it
_DECODERS = {1: "libjpeg.so", 2: "libpng.so"}
_FUNCTIONS = {
    "picture_kind": 2,
    "picture_decode": 4,
    "picture_free": 1,
    "picture_width": 1,
    "picture_height": 1,
    "picture_fit": 10,
}


class Pictures:
    def __init__(self, folders: tuple[str, ...], spec: "dict[str, Any]") -> None:
        self._folders = folders
        self._loaded: set[int] = set()
        # Lazy: what it calls of a decoder is looked up when it is called, and by then that one is there.
        library = open_library(find_library(LIBRARY, folders), LAZY)
        self._functions = {name: symbol(library, name, arity) for name, arity in _FUNCTIONS.items()}
        self._most: int = spec["limits"]["pixels"]
        self._resize: dict[str, int] = spec["resize"]
        self._filter: int = spec["filter"]
        self.height, self.width = spec["size"]

    def read(self, data: bytes, place: str) -> bytes:
        """The pixels of a picture as the model wants them: height × width × RGB."""
        functions, error = self._functions, (Char * _ERROR_SIZE)()
        kind = functions["picture_kind"](data, len(data)) or 0
        if kind in _DECODERS and kind not in self._loaded:
            open_library(find_library(_DECODERS[kind], self._folders), NOW | VISIBLE)
            self._loaded.add(kind)
        picture = functions["picture_decode"](data, len(data), self._most, error)
        if not picture:
            raise _refused(place, error)
        try:
            width, height = functions["picture_width"](picture), functions["picture_height"](picture)
            wide, high = self._resized(width, height)
            left, top = _corner(wide, self.width), _corner(high, self.height)
            out = bytearray(3 * self.width * self.height)
            fitted = functions["picture_fit"](
                picture,
                wide,
                high,
                self._filter,
                left,
                top,
                self.width,
                self.height,
                (Char * len(out)).from_buffer(out),
                error,
            )
        finally:
            functions["picture_free"](picture)
        if not fitted:
            raise _refused(place, error)
        return bytes(out)

    def _resized(self, width: int, height: int) -> tuple[int, int]:
        """What a picture is resized to before it is cropped."""
        resize = self._resize
        if not resize:
            return width, height
        if "shortest_edge" not in resize:
            return resize["width"], resize["height"]
        edge = resize["shortest_edge"]
        short, long = min(width, height), max(width, height)
        other = int(edge * long / short)
        return (edge, other) if width <= height else (other, edge)


def _corner(size: int, wanted: int) -> int:
    """Where a crop begins, as transformers rounds it; before the picture where that is too small."""
    if size >= wanted:
        return (size - wanted) // 2
    return -((wanted - size + 1) // 2)


def _refused(place: str, error: "Any") -> BadRequest:
    reason = bytes(error).split(b"\0", 1)[0].decode(errors="replace")
    return BadRequest(400, "invalid_image", f"{place} cannot be read: {reason}")
