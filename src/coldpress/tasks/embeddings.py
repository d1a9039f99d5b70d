"""Text → embeddings: a text encoder with pooling."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coldpress.errors import UsageError
from coldpress.intake.source import TextEncoder
from coldpress.optimize.tokenizer import Prepared, load_tokenizer, prepare_tokenizer
from coldpress.samples import builtin_texts
from coldpress.tasks import Answer, Carried, Feed, Request, Signature

if TYPE_CHECKING:  # press needs no torch, and importing it takes two seconds
    from coldpress.tasks.encoder import Encoder

INPUT, OUTPUT = "input_ids", "embeddings"
BATCH_TOKENS = 512

#: What one request may bring, beside Lambda's own limits. Kept in task.json, so that it can be read.
LIMITS = {"texts": 2048, "characters": 100_000}

#: (texts, tokens): a search query, a paragraph, a small batch
SHAPES = ((1, 16), (1, 128), (8, 64))

# Dimensions of one would be taken for constants.
_EXAMPLE_BATCH, _EXAMPLE_TOKENS = 2, 7


class Embeddings:
    def __init__(self, source: TextEncoder) -> None:
        self.source = source

    @cached_property
    def _encoder(self) -> "Encoder":
        from coldpress.tasks.encoder import load_encoder

        return load_encoder(self.source)

    @cached_property
    def tokenizer(self) -> Prepared:
        return prepare_tokenizer(self.source)

    def original(self) -> "Encoder":
        return self._encoder

    def signature(self) -> Signature:
        import torch

        ids = torch.arange(1, 1 + _EXAMPLE_BATCH * _EXAMPLE_TOKENS).view(_EXAMPLE_BATCH, _EXAMPLE_TOKENS)
        axes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("tokens", max=self.source.max_tokens)}
        return Signature((INPUT,), (OUTPUT,), (ids,), ((0, 1),), (axes,))

    def samples(self) -> list[Request]:
        return [{"text": text} for text in builtin_texts("coldpress.verify", "samples/texts.jsonl")]

    def truth(self, requests: list[Request]) -> list[Answer]:
        """As the original is used: with its own tokenizer by transformers, a text at a time."""
        import torch

        encoder, tokenizer = self.original(), load_tokenizer(self.source)
        answers: list[Answer] = []
        with torch.inference_mode():
            for request in requests:
                words = _text(request)
                words = words.lower() if self.source.lowercase else words
                inputs = tokenizer(words, truncation=True, max_length=self.source.max_tokens, return_tensors="pt")
                vectors = encoder(inputs["input_ids"])
                answers.append((vectors.numpy().astype(np.float32).reshape(-1),))
        return answers

    def read(self, answer: Any) -> Answer:
        return (np.array(answer["embeddings"][0], dtype=np.float32).reshape(-1),)

    def timed(self) -> dict[str, Request]:
        requests: dict[str, Request] = {}
        for texts, tokens in SHAPES:
            words = min(tokens, self.source.max_tokens) - 2  # two tokens are the tokenizer's own, as a rule
            requests[f"{texts} × {tokens}"] = {"text": [" ".join(["word"] * words)] * texts}
        return requests

    def calibration(self) -> list[Feed]:
        return [{INPUT: np.array([ids], dtype=np.int64)} for ids in self.tokenizer.calibration()]

    def probes(self) -> list[Feed]:
        lengths = {1, 2, 3, self.source.max_tokens // 2, self.source.max_tokens}
        return [{INPUT: np.ones((batch, length), np.int64)} for batch in (1, 2) for length in sorted(lengths)]

    def carry(self, work: Path) -> Carried:
        path = self.tokenizer.write(work / "tokenizer.json")
        return Carried((path,), {}, path.name, BATCH_TOKENS)

    def spec(self) -> dict[str, Any]:
        return {
            "dimensions": self.source.dimensions,
            "pooling": "+".join(self.source.pooling) or "none",
            "normalize": self.source.normalize,
            "max_tokens": self.source.max_tokens,
            "limits": LIMITS,
        }

    def describe(self) -> dict[str, Any]:
        spec = self.spec()
        return {
            "inputs": {"text": "a text, or a list of texts"},
            "outputs": {"embeddings": {"dimensions": spec["dimensions"], "pooling": spec["pooling"]}},
        }


def _text(request: Request) -> str:
    text = request.get("text")
    if not isinstance(text, str):
        raise UsageError(f'a sample of this task is {{"text": "…"}}, not {str(request)[:80]}')
    return text
