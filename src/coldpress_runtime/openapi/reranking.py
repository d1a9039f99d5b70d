"""The document of a function that ranks documents by a query."""

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
    return f"How well documents answer a query; up to {spec['max_tokens']} tokens of both count."


def paths(spec: "dict[str, Any]") -> "dict[str, Any]":
    asked = {"query": TEXT, "documents": one_or_many(spec), "truncate": FLAG}
    plain = described({**asked, "logits": FLAG}, ["query", "documents"])
    clients = described({**asked, "model": TEXT, "top_n": COUNT, "return_documents": FLAG}, ["query", "documents"])
    result = described(
        {"index": WHOLE, "relevance_score": NUMBER, "document": described({"text": TEXT})},
        ["index", "relevance_score"],
    )
    ranked = operation(
        "Rank documents, the best first, as Cohere's and Jina's clients ask",
        clients,
        described({"id": TEXT, "model": TEXT, "results": listed(result)}),
    )
    scores = described({"scores": listed(NUMBER), "logits": listed(NUMBER)}, [])
    return {
        "/": {"post": operation("Score documents, in the order given", plain, scores)},
        "/v1/rerank": {"post": ranked},
        "/v2/rerank": {"post": ranked},
    }
