"""The document of a function that finds answers in texts."""

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
    return "Finds where in a text a question is answered; long texts are read in overlapping parts."


def paths(spec: "dict[str, Any]") -> "dict[str, Any]":
    request = described(
        {
            "question": one_or_many(spec),
            "context": one_or_many(spec),
            "top_k": COUNT,
            "max_answer_len": COUNT,
            "handle_impossible_answer": FLAG,
            "logits": FLAG,
        },
        ["question", "context"],
    )
    span = described({"score": NUMBER, "start": WHOLE, "end": WHOLE, "answer": TEXT})
    logits = described({"logits": listed(listed(NUMBER))})
    answer = {"oneOf": [span, listed(span), listed(listed(span)), logits]}
    return {"/": {"post": operation("Answer a question from a text", request, answer)}}
