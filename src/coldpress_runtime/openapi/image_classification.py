"""The document of a function that classifies pictures."""

from coldpress_runtime.openapi.schema import COUNT, FLAG, NUMBER, described, listed, operation, pictures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def summary(spec: "dict[str, Any]") -> str:
    height, width = spec["size"]
    return f"One of {len(spec['labels'])} labels for a picture, which is read as {width} × {height} pixels."


def paths(spec: "dict[str, Any]") -> "dict[str, Any]":
    request = described({"image": pictures(spec), "top_k": COUNT, "logits": FLAG}, ["image"])
    label = described({"label": {"enum": spec["labels"]}, "score": NUMBER})
    logits = described({"logits": listed(listed(NUMBER))})
    answer = {"oneOf": [listed(label), listed(listed(label)), logits]}
    return {"/": {"post": operation("Classify one picture or many", request, answer)}}
