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


def _json(schema: "dict[str, Any]") -> "dict[str, Any]":
    return {"application/json": {"schema": schema}}
