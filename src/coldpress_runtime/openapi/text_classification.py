"""The document of a function that classifies texts."""

from coldpress_runtime.openapi.schema import COUNT, FLAG, NUMBER, described, listed, one_or_many, operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def summary(spec: "dict[str, Any]") -> str:
    return f"One of {len(spec['labels'])} labels for a text or a pair; up to {spec['max_tokens']} tokens count."


def paths(spec: "dict[str, Any]") -> "dict[str, Any]":
    request = described(
        {
            "text": one_or_many(spec),
            "text_pair": one_or_many(spec),
            "top_k": COUNT,
            "function_to_apply": {"enum": ["softmax", "sigmoid", "none"], "default": spec["function"]},
            "truncate": FLAG,
            "logits": FLAG,
        },
        ["text"],
    )
    label = described({"label": {"enum": spec["labels"]}, "score": NUMBER})
    logits = described({"logits": listed(listed(NUMBER))})
    answer = {"oneOf": [listed(label), listed(listed(label)), logits]}
    return {"/": {"post": operation("Classify one text or many", request, answer)}}
