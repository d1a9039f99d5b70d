"""The document of a function that embeds pictures."""

from coldpress_runtime.openapi.schema import NUMBER, described, listed, operation, pictures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def summary(spec: "dict[str, Any]") -> str:
    height, width = spec["size"]
    return f"Embeddings of {spec['dimensions']} dimensions of pictures, read as {width} × {height} pixels."


def paths(spec: "dict[str, Any]") -> "dict[str, Any]":
    request = described({"image": pictures(spec)}, ["image"])
    answer = described({"embeddings": listed(listed(NUMBER))})
    return {"/": {"post": operation("Embed one picture or many", request, answer)}}
