"""The document of a function that takes and gives tensors."""

from coldpress_runtime.openapi.schema import described, operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NUMBERS = {"type": "array", "description": "numbers, in lists as deep as the tensor has axes"}
_BINARY = described(
    {
        "type": {"type": "string"},
        "shape": {"type": "array", "items": {"type": "integer"}},
        "data": {"type": "string", "contentEncoding": "base64"},
    }
)


def summary(spec: "dict[str, Any]") -> str:
    taken = ", ".join(f"{one['name']} ({one['type']}, {_shape(one['shape'])})" for one in spec["inputs"])
    given = ", ".join(f"{one['name']} ({one['type']})" for one in spec["outputs"])
    return f"Takes {taken}; gives {given}."


def paths(spec: "dict[str, Any]") -> "dict[str, Any]":
    inputs = described({one["name"]: {"oneOf": [_NUMBERS, _BINARY]} for one in spec["inputs"]})
    outputs = described({one["name"]: {"oneOf": [_NUMBERS, _BINARY]} for one in spec["outputs"]})
    request = described({"inputs": inputs, "encoding": {"enum": ["json", "base64"]}}, ["inputs"])
    return {"/": {"post": operation("Run the model on tensors", request, described({"outputs": outputs}))}}


def _shape(sizes: "list[int | None]") -> str:
    return "[" + ", ".join("any" if size is None else str(size) for size in sizes) + "]"
