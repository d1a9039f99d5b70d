"""Text, or a pair of texts → labels."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from coldpress.tasks import Request
from coldpress.tasks.text import TextTask, sample_texts, text_in

if TYPE_CHECKING:
    from torch import Tensor, nn

EXAMPLE = '{"text": "…"} or {"text": "…", "text_pair": "…"}'


class TextClassification(TextTask):
    pairs = True

    def _load(self) -> "nn.Module":
        from coldpress.tasks.heads import load_logits

        return load_logits(self.source, "AutoModelForSequenceClassification")

    def _inputs(self, tokenizer: Any, request: Request) -> "Iterator[tuple[Tensor, ...]]":
        first = text_in(request, "text", EXAMPLE)
        second = None if request.get("text_pair") is None else text_in(request, "text_pair", EXAMPLE)
        yield self.encoded(tokenizer, first, second)

    def encoded(self, tokenizer: Any, first: str, second: str | None) -> "tuple[Tensor, ...]":
        import torch

        # As a list of one: else an empty second text would count as none.
        texts = [first] if second is None else [[first, second]]
        inputs = tokenizer(texts, truncation=True, max_length=self.source.max_tokens, return_tensors="pt")
        ids = inputs["input_ids"]
        return (ids, inputs.get("token_type_ids", torch.zeros_like(ids))) if self.typed else (ids,)

    @classmethod
    def asked(cls, spec: Mapping[str, Any]) -> list[Request]:
        """Every third one a pair."""
        texts = sample_texts()
        return [
            {"text": text, "logits": True} | ({"text_pair": texts[at - 1]} if at % 3 == 2 else {})
            for at, text in enumerate(texts)
        ]

    def spec(self) -> dict[str, Any]:
        return {
            "labels": list(self.source.labels),
            "function": self.source.function,
            "dimensions": len(self.source.labels),
            "per_token": False,
            "frame": self.tokenizer.frame.json(),
            **super().spec(),
        }

    def describe(self) -> dict[str, Any]:
        return {
            "inputs": {"text": "a text, or a list of texts", "text_pair": "as many texts, if they are pairs"},
            "outputs": {"labels": list(self.source.labels), "function": self.source.function},
        }
