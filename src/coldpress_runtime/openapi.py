"""The OpenAPI document of a function, made from its task.json when somebody asks."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def document(spec: "dict[str, Any]") -> "dict[str, Any]":
    paths: dict[str, Any] = {
        "/": {"post": _operation("Embed one text or many", _plain_request(spec), _plain_answer(spec))},
        "/health": {"get": _operation("Is the function up?", None, _object({"status": {"type": "string"}}))},
    }
    if spec["pooling"] != "none":
        paths["/v1/embeddings"] = {
            "post": _operation("Embed, as OpenAI's clients ask", _openai_request(spec), _openai_answer())
        }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": spec["name"],
            "version": str(spec["format"]),
            "description": f"Embeddings of {spec['dimensions']} dimensions; "
            f"a text counts up to {spec['max_tokens']} tokens.",
        },
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }


def _operation(summary: str, request: "dict[str, Any] | None", answer: "dict[str, Any]") -> "dict[str, Any]":
    refusal = _object({"error": _object({"code": {"type": "string"}, "message": {"type": "string"}})})
    operation: dict[str, Any] = {
        "summary": summary,
        "responses": {
            "200": {"description": "the answer", "content": _json(answer)},
            "4XX": {"description": "what was wrong with the request", "content": _json(refusal)},
        },
    }
    if request is not None:
        operation["requestBody"] = {"required": True, "content": _json(request)}
    return operation


def _json(schema: "dict[str, Any]") -> "dict[str, Any]":
    return {"application/json": {"schema": schema}}


def _object(properties: "dict[str, Any]", required: list[str] | None = None) -> "dict[str, Any]":
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
    }


def _texts(spec: "dict[str, Any]") -> "dict[str, Any]":
    limits = spec["limits"]
    one = {"type": "string", "maxLength": limits["characters"]}
    return {"oneOf": [one, {"type": "array", "items": one, "minItems": 1, "maxItems": limits["texts"]}]}


def _plain_request(spec: "dict[str, Any]") -> "dict[str, Any]":
    return _object({"text": _texts(spec), "truncate": {"type": "boolean", "default": True}}, ["text"])


def _plain_answer(spec: "dict[str, Any]") -> "dict[str, Any]":
    vector: dict[str, Any] = {"type": "array", "items": {"type": "number"}}
    if spec["pooling"] == "none":
        vector = {"type": "array", "items": vector}
    return _object({"embeddings": {"type": "array", "items": vector}})


def _openai_request(spec: "dict[str, Any]") -> "dict[str, Any]":
    return _object(
        {
            "input": _texts(spec),
            "model": {"type": "string"},
            "encoding_format": {"enum": ["float", "base64"]},
            "dimensions": {"const": spec["dimensions"]},
        },
        ["input"],
    )


def _openai_answer() -> "dict[str, Any]":
    vector = {"oneOf": [{"type": "array", "items": {"type": "number"}}, {"type": "string"}]}
    count = {"type": "integer"}
    datum = _object({"object": {"const": "embedding"}, "index": count, "embedding": vector})
    return _object(
        {
            "object": {"const": "list"},
            "data": {"type": "array", "items": datum},
            "model": {"type": "string"},
            "usage": _object({"prompt_tokens": count, "total_tokens": count}),
        }
    )
