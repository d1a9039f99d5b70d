"""What all tasks that read text have in common: a tokenizer, lengths that vary, built-in texts."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coldpress.errors import UsageError
from coldpress.intake.source import TextEncoder
from coldpress.samples import builtin_texts
from coldpress.tasks import Answer, Carried, Feed, Request, Signature
from coldpress.tasks.tokenizer import Prepared, load_tokenizer, prepare_tokenizer

if TYPE_CHECKING:  # press needs no torch, and importing it takes two seconds
    from torch import Tensor, nn

BATCH_TOKENS = 512
INPUTS = ("input_ids", "token_type_ids")

#: What one request may bring, beside Lambda's own limits. Kept in task.json, so that it can be read.
LIMITS = {"texts": 2048, "characters": 100_000}

#: (texts, tokens): a search query, a paragraph, a small batch
SHAPES = ((1, 16), (1, 128), (8, 64))

# Dimensions of one would be taken for constants.
_EXAMPLE_BATCH, _EXAMPLE_TOKENS = 2, 7


class TextTask(ABC):
    native: tuple[str, ...] = ()
    #: whether a request may hold two texts that the model reads together
    pairs = False
    #: what the graph gives
    output = "logits"

    def __init__(self, source: TextEncoder) -> None:
        self.source = source

    @cached_property
    def _original(self) -> "nn.Module":
        return self._load()

    @abstractmethod
    def _load(self) -> "nn.Module":
        """The original with all that belongs to its answer."""

    @abstractmethod
    def _inputs(self, tokenizer: Any, request: Request) -> "Iterator[tuple[Tensor, ...]]":
        """What the original is called with for a request, by its own tokenizer; more than once for long texts."""

    def original(self) -> "nn.Module":
        return self._original

    @cached_property
    def tokenizer(self) -> Prepared:
        return prepare_tokenizer(self.source)

    @property
    def typed(self) -> bool:
        """Whether the model is told which part of a pair each token belongs to."""
        return self.pairs and self.source.token_types > 1 and self.tokenizer.frame.typed

    def signature(self) -> Signature:
        import torch

        ids = torch.arange(1, 1 + _EXAMPLE_BATCH * _EXAMPLE_TOKENS).view(_EXAMPLE_BATCH, _EXAMPLE_TOKENS)
        axes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("tokens", max=self.source.max_tokens)}
        inputs = INPUTS if self.typed else INPUTS[:1]
        example = (ids, (ids % 2))[: len(inputs)]
        return Signature(inputs, (self.output,), example, ((0, 1),) * len(inputs), (axes,) * len(inputs))

    def truth(self, requests: list[Request]) -> list[Answer]:
        """As the original is used: with its own tokenizer by transformers, a text at a time."""
        import torch

        original, tokenizer = self.original(), load_tokenizer(self.source)
        answers: list[Answer] = []
        with torch.inference_mode():
            for request in requests:
                parts = [original(*inputs).numpy().reshape(-1) for inputs in self._inputs(tokenizer, request)]
                answers.append((np.concatenate(parts).astype(np.float32),))
        return answers

    def question(self, request: Request) -> Request:
        """A request of a person's own, asked so that all numbers behind the answer can be compared."""
        return {**request, "logits": True}

    def read(self, answer: Any) -> Answer:
        rows = [np.asarray(row, dtype=np.float32).reshape(-1) for row in answer["logits"]]
        return (np.concatenate(rows),)

    def samples(self) -> list[Request]:
        return self.asked(self.spec())

    @classmethod
    def asked(cls, spec: Mapping[str, Any]) -> list[Request]:
        return [{"text": text, "logits": True} for text in sample_texts()]

    def timed(self) -> dict[str, Request]:
        return {f"{texts} × {tokens}": {"text": [self.words(tokens)] * texts} for texts, tokens in SHAPES}

    def words(self, tokens: int) -> str:
        """A text of that many tokens, two of which are the tokenizer's own, as a rule."""
        return " ".join(["word"] * (min(tokens, self.source.max_tokens) - 2))

    def calibration(self) -> list[Feed]:
        feeds = []
        for ids, types in self.tokenizer.calibration(pairs=self.pairs):
            values = (ids, types) if self.typed else (ids,)
            named = zip(INPUTS, values, strict=False)
            feeds.append({name: np.array([value], dtype=np.int64) for name, value in named})
        return feeds

    def probes(self) -> list[Feed]:
        names = self.signature().inputs
        lengths = {1, 2, 3, self.source.max_tokens // 2, self.source.max_tokens}
        shapes = [(batch, length) for batch in (1, 2) for length in sorted(lengths)]
        return [{name: np.ones(shape, np.int64) for name in names} for shape in shapes]

    def carry(self, work: Path) -> Carried:
        path = self.tokenizer.write(work / "tokenizer.json")
        return Carried((path, *self.extras(work)), {}, path.name, BATCH_TOKENS)

    def extras(self, work: Path) -> tuple[Path, ...]:
        """Files that the task needs beside any engine's model."""
        return ()

    def spec(self) -> dict[str, Any]:
        return {"max_tokens": self.source.max_tokens, "limits": LIMITS}


def sample_texts() -> list[str]:
    return builtin_texts("coldpress.verify", "samples/texts.jsonl")


def text_in(request: Request, field: str, example: str) -> str:
    text = request.get(field)
    if not isinstance(text, str):
        raise UsageError(f"a sample of this task is {example}, not {str(request)[:80]}")
    return text
