"""The document of a function that finds things in texts."""

from coldpress_runtime.openapi.schema import FLAG, NUMBER, TEXT, WHOLE, described, listed, one_or_many, operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def summary(spec: "dict[str, Any]") -> str:
    return f"What stands in a text, by {len(spec['labels'])} labels; up to {spec['max_tokens']} tokens count."


def paths(spec: "dict[str, Any]") -> "dict[str, Any]":
    request = described(
        {
            "text": one_or_many(spec),
            "aggregation_strategy": {"enum": ["none", "simple", "first", "average", "max"], "default": "simple"},
            "ignore_labels": listed(TEXT),
            "truncate": FLAG,
            "logits": FLAG,
        },
        ["text"],
    )
    entity = described(
        {"entity_group": TEXT, "entity": TEXT, "score": NUMBER, "word": TEXT, "start": WHOLE, "end": WHOLE},
        ["score", "word", "start", "end"],
    )
    logits = described({"logits": listed(listed(NUMBER))})
    answer = {"oneOf": [listed(entity), listed(listed(entity)), logits]}
    return {"/": {"post": operation("Find entities in one text or many", request, answer)}}
