"""The document of a function that classifies sounds."""

from coldpress_runtime.openapi.schema import COUNT, FLAG, NUMBER, described, encoded, listed, operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def summary(spec: "dict[str, Any]") -> str:
    return (
        f"One of {len(spec['labels'])} labels for a sound: a WAV of at most {spec['limits']['seconds']} seconds, "
        f"which is heard at {spec['rate']} Hz."
    )


def paths(spec: "dict[str, Any]") -> "dict[str, Any]":
    sounds = encoded(spec["limits"]["sounds"])
    request = described({"audio": sounds, "top_k": COUNT, "logits": FLAG}, ["audio"])
    label = described({"label": {"enum": spec["labels"]}, "score": NUMBER})
    logits = described({"logits": listed(listed(NUMBER))})
    answer = {"oneOf": [listed(label), listed(listed(label)), logits]}
    return {"/": {"post": operation("Classify one sound or many", request, answer)}}
