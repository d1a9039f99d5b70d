"""Named tensors in, named tensors out, as JSON lists or as base64 of the numbers in memory."""

from _struct import Struct
from _struct import error as struct_error  # type: ignore[attr-defined]  # it is there

from coldpress_runtime.faults import BadRequest, EngineError
from coldpress_runtime.jsontext import quote
from coldpress_runtime.native import read_memory
from coldpress_runtime.tasks.texts import fields, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from coldpress_runtime.engines import Input, Tensor
    from coldpress_runtime.model import Model
    from coldpress_runtime.tasks import Route

#: how each type is written in memory
CODES = {
    "float32": "f",
    "float64": "d",
    "float16": "e",
    "int64": "q",
    "int32": "i",
    "int16": "h",
    "int8": "b",
    "uint8": "B",
    "bool": "?",
}
SIZES = {kind: Struct(f"<{code}").size for kind, code in CODES.items()}
#: enough digits to read back as the same number
_FLOATS = {"float16": "%.5g", "float32": "%.9g", "float64": "%.17g"}
_EXAMPLE = '{"inputs": {"NAME": [[…]]}}'


class Tensors:
    def __init__(self, model: "Model") -> None:
        self._session = model.session
        self._inputs: dict[str, tuple[str, list[int | None]]] = {
            one["name"]: (one["type"], one["shape"]) for one in model.spec["inputs"]
        }
        self._outputs: list[str] = [one["name"] for one in model.spec["outputs"]]
        self.routes: dict[str, Route] = {"/": self.plain}

    def plain(self, request: object, room: int) -> str:
        body = fields(request, _EXAMPLE)
        encoding = body.get("encoding") or "json"
        if encoding not in ("json", "base64"):
            raise BadRequest(400, "unsupported_value", f"'encoding' is {shown(encoding)}; it can be: json, base64")
        made = self._session.call(self._read(body))
        try:
            parts = []
            for name, tensor in zip(self._outputs, made, strict=True):
                written = _base64(tensor) if encoding == "base64" else _json(tensor, room)
                parts.append(f"{quote(name)}: {written}")
        finally:
            for tensor in made:
                tensor.close()
        return '{"outputs": {' + ", ".join(parts) + "}}"

    def _read(self, body: "Mapping[str, object]") -> "list[Input]":
        given = body.get("inputs")
        if len(self._inputs) == 1 and isinstance(given, list):
            given = dict.fromkeys(self._inputs, given)  # one input needs no name
        if not isinstance(given, dict):
            raise BadRequest(
                400, "missing_field", f"'inputs' must be an object such as {_EXAMPLE}, not {shown(given)}"
            )
        for name in given:
            if name not in self._inputs:
                raise BadRequest(
                    400, "unknown_input", f"'inputs' has {shown(name)}; this model takes {', '.join(self._inputs)}"
                )
        tensors = []
        for name, (kind, shape) in self._inputs.items():
            if name not in given:
                raise BadRequest(400, "missing_field", f"inputs.{name} is missing")
            tensors.append(read_tensor(given[name], f"inputs.{name}", kind, shape))
        return tensors


def read_tensor(value: object, place: str, kind: str, wanted: "list[int | None]") -> "Input":
    if isinstance(value, dict):
        shape, data = _from_base64(value, place, kind)
    elif isinstance(value, tuple):  # no JSON has one: it comes from code
        shape, data = _from_bytes(value, place, kind)
    else:
        flat: list[Any] = []
        shape = _flatten(value, place, len(wanted), flat)
        data = _packed(flat, place, kind)
    if len(shape) != len(wanted) or any(
        size != limit for size, limit in zip(shape, wanted, strict=True) if limit is not None
    ):
        form = ", ".join("any" if limit is None else str(limit) for limit in wanted)
        raise BadRequest(400, "wrong_shape", f"{place} has the shape {shape}; this model takes [{form}]")
    if 0 in shape:
        raise BadRequest(400, "empty_input", f"{place} has the shape {shape}: there is nothing in it")
    return kind, tuple(shape), data


def _from_base64(value: "Mapping[str, object]", place: str, kind: str) -> "tuple[list[int], bytes]":
    from binascii import Error, a2b_base64

    said, shape, text = value.get("type", kind), value.get("shape"), value.get("data")
    if said != kind:
        raise BadRequest(400, "wrong_type", f"{place}.type is {shown(said)}; this model takes {kind}")
    if not isinstance(shape, list) or any(
        not isinstance(size, int) or isinstance(size, bool) or size < 0 for size in shape
    ):
        raise BadRequest(400, "wrong_type", f"{place}.shape must be a list of sizes, not {shown(shape)}")
    if not isinstance(text, str):
        raise BadRequest(400, "wrong_type", f"{place}.data must be base64 in a text, not {shown(text)}")
    try:
        data = a2b_base64(text)
    except (Error, ValueError):
        raise BadRequest(400, "invalid_base64", f"{place}.data is not base64") from None
    _check_size(shape, data, place, kind)
    return shape, data


def _from_bytes(value: "tuple[Any, ...]", place: str, kind: str) -> "tuple[list[int], bytes]":
    if len(value) != 3 or value[0] != kind or not isinstance(value[2], (bytes, bytearray, memoryview)):
        raise BadRequest(400, "wrong_type", f"{place} must be ({kind!r}, shape, bytes), not {shown(value)}")
    shape, data = [*value[1]], bytes(value[2])
    _check_size(shape, data, place, kind)
    return shape, data


def _check_size(shape: list[int], data: bytes, place: str, kind: str) -> None:
    size = product(shape) * SIZES[kind]
    if len(data) != size:
        raise BadRequest(
            400,
            "wrong_shape",
            f"{place}.data has {len(data)} bytes; {kind} of the shape {shown(shape)} has {size}",
        )


def _flatten(value: object, place: str, depth: int, flat: "list[Any]") -> list[int]:
    """Put the numbers of nested lists one after the other; returns the shape that they have."""
    if depth == 0:
        if isinstance(value, list) or not isinstance(value, (int, float)):
            raise BadRequest(400, "wrong_type", f"{place} must be a number, not {shown(value)}")
        flat.append(value)
        return []
    if not isinstance(value, list):
        raise BadRequest(400, "wrong_shape", f"{place} must be a list, {depth} deep, not {shown(value)}")
    if depth == 1:
        for at, number in enumerate(value):
            if not isinstance(number, (int, float)):
                raise BadRequest(400, "wrong_type", f"{place}[{at}] must be a number, not {shown(number)}")
        flat += value
        return [len(value)]
    inner: list[int] | None = None
    for at, part in enumerate(value):
        shape = _flatten(part, f"{place}[{at}]", depth - 1, flat)
        if inner is not None and shape != inner:
            raise BadRequest(
                400, "wrong_shape", f"{place}[{at}] has the shape {shape}, the ones before it {inner}"
            )
        inner = shape
    return [len(value), *(inner or [0] * (depth - 1))]


def _packed(flat: "list[Any]", place: str, kind: str) -> bytes:
    try:
        return Struct(f"<{len(flat)}{CODES[kind]}").pack(*flat)
    except (struct_error, OverflowError) as error:
        raise BadRequest(400, "wrong_type", f"{place} holds what is no {kind}: {error}") from None


def _base64(tensor: "Tensor") -> str:
    from binascii import b2a_base64

    kind, shape, data = memory_of(tensor)
    text = b2a_base64(data, newline=False).decode()
    return f'{{"type": "{kind}", "shape": {shape}, "data": "{text}"}}'


def _json(tensor: "Tensor", room: int) -> str:
    kind, shape, data = memory_of(tensor)
    count = len(data) // SIZES[kind]
    if 2 * count > room:  # no number is shorter than a digit and a comma
        raise BadRequest(
            413,
            "answer_too_large",
            f"the answer has {count} numbers, more than {room} bytes hold: "
            'send less at a time, or ask for "encoding": "base64"',
        )
    values = Struct(f"<{count}{CODES[kind]}").unpack(data)
    if kind == "bool":
        texts = ["true" if value else "false" for value in values]
    elif kind in _FLOATS:
        joined = ((_FLOATS[kind] + ",") * count)[:-1] % values
        if "n" in joined:  # nan or inf
            raise EngineError("the model answered with a value that is not a finite number")
        texts = joined.split(",") if count else []
    else:
        texts = list(map(str, values))
    for axis in range(len(shape) - 1, 0, -1):
        size, groups = shape[axis], product(shape[:axis])
        texts = [f"[{','.join(texts[at * size : at * size + size])}]" for at in range(groups)]
    return f"[{','.join(texts)}]" if shape else texts[0]


def memory_of(tensor: "Tensor") -> tuple[str, list[int], bytes]:
    kind, shape = tensor.form()
    return kind, shape, read_memory(tensor.address, product(shape) * SIZES[kind])


def product(sizes: list[int]) -> int:
    product = 1
    for size in sizes:
        product *= size
    return product
