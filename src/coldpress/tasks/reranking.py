"""A query and documents → how well each document answers it: a cross-encoder."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from coldpress.errors import UsageError
from coldpress.tasks import Request
from coldpress.tasks.text import SHAPES, sample_texts, text_in
from coldpress.tasks.text_classification import TextClassification

if TYPE_CHECKING:
    from torch import Tensor

EXAMPLE = '{"query": "…", "documents": ["…"]}'


class Reranking(TextClassification):
    def _inputs(self, tokenizer: Any, request: Request) -> "Iterator[tuple[Tensor, ...]]":
        query = text_in(request, "query", EXAMPLE)
        documents = request.get("documents")
        if not isinstance(documents, list) or not all(isinstance(one, str) for one in documents):
            raise UsageError(f"a sample of this task is {EXAMPLE}, not {str(request)[:80]}")
        for document in documents:
            yield self.encoded(tokenizer, query, document)

    @classmethod
    def asked(cls, spec: Mapping[str, Any]) -> list[Request]:
        """Documents that have to do with the query, and others."""
        texts = sample_texts()
        return [
            {"query": " ".join(text.split()[:8]), "documents": [text, texts[at - 7]], "logits": True}
            for at, text in enumerate(texts)
        ]

    def timed(self) -> dict[str, Request]:
        return {
            f"{texts} × {tokens}": {"query": self.words(10), "documents": [self.words(tokens - 9)] * texts}
            for texts, tokens in SHAPES
        }

    def spec(self) -> dict[str, Any]:
        spec = super().spec()
        del spec["labels"]
        return spec

    def describe(self) -> dict[str, Any]:
        return {
            "inputs": {"query": "a text", "documents": "a list of texts"},
            "outputs": {"scores": "a number per document, in their order", "function": self.source.function},
        }
