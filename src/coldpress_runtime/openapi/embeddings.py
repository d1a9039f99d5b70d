"""The document of a function that embeds text."""

from coldpress_runtime.openapi.schema import described, one_or_many, operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def summary(spec: "dict[str, Any]") -> str:
    return f"Embeddings of {spec['dimensions']} dimensions; a text counts up to {spec['max_tokens']} tokens."


def paths(spec: "dict[str, Any]") -> "dict[str, Any]":
    made: dict[str, Any] = {
        "/": {"post": operation("Embed one text or many", _plain_request(spec), _plain_answer(spec))}
    }
    if spec["pooling"] != "none":
        made["/v1/embeddings"] = {
            "post": operation("Embed, as OpenAI's clients ask", _openai_request(spec), _openai_answer())
        }
    return made


def _plain_request(spec: "dict[str, Any]") -> "dict[str, Any]":
    asked = {"text": one_or_many(spec), "truncate": {"type": "boolean", "default": True}}
    if spec.get("prompts"):
        asked["prompt_name"] = {"enum": list(spec["prompts"])}
    return described(asked, ["text"])


def _plain_answer(spec: "dict[str, Any]") -> "dict[str, Any]":
    vector: dict[str, Any] = {"type": "array", "items": {"type": "number"}}
    if spec["pooling"] == "none":
        vector = {"type": "array", "items": vector}
    return described({"embeddings": {"type": "array", "items": vector}})


def _openai_request(spec: "dict[str, Any]") -> "dict[str, Any]":
    return described(
        {
            "input": one_or_many(spec),
            "model": {"type": "string"},
            "encoding_format": {"enum": ["float", "base64"]},
            "dimensions": {"const": spec["dimensions"]},
        },
        ["input"],
    )


def _openai_answer() -> "dict[str, Any]":
    vector = {"oneOf": [{"type": "array", "items": {"type": "number"}}, {"type": "string"}]}
    count = {"type": "integer"}
    datum = described({"object": {"const": "embedding"}, "index": count, "embedding": vector})
    return described(
        {
            "object": {"const": "list"},
            "data": {"type": "array", "items": datum},
            "model": {"type": "string"},
            "usage": described({"prompt_tokens": count, "total_tokens": count}),
        }
    )
