"""Text → embeddings: a text encoder with pooling."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from coldpress.tasks import Answer, Request
from coldpress.tasks.text import TextTask, sample_texts, text_in

if TYPE_CHECKING:  # press needs no torch, and importing it takes two seconds
    from torch import Tensor

    from coldpress.tasks.encoder import Encoder


class Embeddings(TextTask):
    output = "embeddings"

    def _load(self) -> "Encoder":
        from coldpress.tasks.encoder import load_encoder

        return load_encoder(self.source)

    def _inputs(self, tokenizer: Any, request: Request) -> "Iterator[tuple[Tensor, ...]]":
        words = text_in(request, "text", '{"text": "…"}')
        name = request.get("prompt_name", self.source.prompt)
        words = self.source.prompts[name] + words if name else words
        words = words.lower() if self.source.lowercase else words
        inputs = tokenizer(words, truncation=True, max_length=self.source.max_tokens, return_tensors="pt")
        yield (inputs["input_ids"],)

    @classmethod
    def asked(cls, spec: Mapping[str, Any]) -> list[Request]:
        return [{"text": text} for text in sample_texts()]

    def question(self, request: Request) -> Request:
        return request

    def read(self, answer: Any) -> Answer:
        return (np.array(answer["embeddings"][0], dtype=np.float32).reshape(-1),)

    def spec(self) -> dict[str, Any]:
        return {
            "dimensions": self.source.dimensions,
            "per_token": not self.source.pooling,
            "pooling": "+".join(self.source.pooling) or "none",
            "normalize": self.source.normalize,
            **({"prompts": self.source.prompts, "prompt": self.source.prompt} if self.source.prompts else {}),
            **super().spec(),
        }

    def describe(self) -> dict[str, Any]:
        spec = self.spec()
        return {
            "inputs": {"text": "a text, or a list of texts"},
            "outputs": {"embeddings": {"dimensions": spec["dimensions"], "pooling": spec["pooling"]}},
        }
