"""The document of a function that fills gaps in texts."""

from coldpress_runtime.openapi.schema import (
    COUNT,
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    described,
    listed,
    one_or_many,
    operation,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def summary(spec: "dict[str, Any]") -> str:
    return f"What may stand where a text says {spec['mask_text']}; up to {spec['max_tokens']} tokens count."


def paths(spec: "dict[str, Any]") -> "dict[str, Any]":
    targets = {"oneOf": [TEXT, listed(TEXT)]}
    request = described({"text": one_or_many(spec), "top_k": COUNT, "targets": targets, "logits": FLAG}, ["text"])
    filled = described({"score": NUMBER, "token": WHOLE, "token_str": TEXT, "sequence": TEXT})
    logits = described({"logits": listed(listed(NUMBER))})
    answer = {"oneOf": [listed(filled), listed(listed(filled)), listed(listed(listed(filled))), logits]}
    return {"/": {"post": operation("Fill the gap in one text or many", request, answer)}}
