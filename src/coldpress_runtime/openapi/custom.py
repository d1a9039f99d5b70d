"""The document of a function with code of its own: what it takes and gives, only that code knows."""

from coldpress_runtime.openapi.schema import listed, operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def summary(spec: "dict[str, Any]") -> str:
    return f"Answers with {spec['code']}, code of its own."


def paths(spec: "dict[str, Any]") -> "dict[str, Any]":
    request = {"oneOf": [{"type": "object"}, listed({"type": "object"})]}
    return {"/": {"post": operation("Ask once, or with a list several times", request, {})}}
