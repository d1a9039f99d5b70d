"""The few forms that every task's part of the document is made of."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def operation(summary: str, request: "dict[str, Any] | None", answer: "dict[str, Any]") -> "dict[str, Any]":
    refusal = described({"error": described({"code": {"type": "string"}, "message": {"type": "string"}})})
    made: dict[str, Any] = {
        "summary": summary,
        "responses": {
            "200": {"description": "the answer", "content": _json(answer)},
            "4XX": {"description": "what was wrong with the request", "content": _json(refusal)},
        },
    }
    if request is not None:
        made["requestBody"] = {"required": True, "content": _json(request)}
    return made


def described(properties: "dict[str, Any]", required: list[str] | None = None) -> "dict[str, Any]":
    """An object, all of whose properties are required unless it is said which."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
    }


def one_or_many(spec: "dict[str, Any]") -> "dict[str, Any]":
    """A text, or a list of texts, within the function's limits."""
    limits = spec["limits"]
    one = {"type": "string", "maxLength": limits["characters"]}
    return {"oneOf": [one, listed(one) | {"minItems": 1, "maxItems": limits["texts"]}]}


def pictures(spec: "dict[str, Any]") -> "dict[str, Any]":
    return encoded(spec["limits"]["images"])


def encoded(most: int) -> "dict[str, Any]":
    """A file, or a list of files, as base64."""
    one = {"type": "string", "contentEncoding": "base64"}
    return {"oneOf": [one, listed(one) | {"minItems": 1, "maxItems": most}]}


def listed(items: "dict[str, Any]") -> "dict[str, Any]":
    return {"type": "array", "items": items}


FLAG = {"type": "boolean"}
NUMBER = {"type": "number"}
TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
#: how many answers: a number, or null for all
COUNT = {"type": ["integer", "null"], "minimum": 1}


def _json(schema: "dict[str, Any]") -> "dict[str, Any]":
    return {"application/json": {"schema": schema}}
