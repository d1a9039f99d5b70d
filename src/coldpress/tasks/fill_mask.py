"""A text with a gap → what may stand there."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from coldpress.errors import UnsupportedModel
from coldpress.tasks import Feed, Request, Signature
from coldpress.tasks.text import SHAPES, TextTask, sample_texts, text_in

if TYPE_CHECKING:
    from torch import Tensor, nn


class FillMask(TextTask):
    def _load(self) -> "nn.Module":
        from coldpress.tasks.heads import Gaps
        from coldpress.tasks.original import load_pretrained

        return Gaps(load_pretrained(self.source, "AutoModelForMaskedLM")).eval()

    def _inputs(self, tokenizer: Any, request: Request) -> "Iterator[tuple[Tensor, ...]]":
        text = text_in(request, "text", f'{{"text": "… {self._mask()[1]} …"}}')
        ids = tokenizer(text, truncation=True, max_length=self.source.max_tokens, return_tensors="pt")["input_ids"]
        places = (ids[0] == self._mask()[0]).nonzero().reshape(1, -1)
        if not places.numel():
            raise UnsupportedModel(f"a sample has no gap among the tokens that count: {text[:80]!r}")
        yield ids, places

    def _mask(self) -> tuple[int, str]:
        found = self.tokenizer.special("mask_token", self.source.folder)
        if found is None:
            raise UnsupportedModel(f"the tokenizer of {self.source.origin} has no mask token")
        return found

    def signature(self) -> Signature:
        import torch

        plain = super().signature()
        axes = plain.dynamic[0]
        gaps = {0: axes[0], 1: torch.export.Dim("gaps", max=64)}
        places = torch.tensor([[1, 2, 3], [2, 3, 4]])
        inputs = (*plain.inputs, "positions")
        return Signature(inputs, plain.outputs, (*plain.example, places), ((0, 1), (0, 1)), (axes, gaps))

    @classmethod
    def asked(cls, spec: Mapping[str, Any]) -> list[Request]:
        found: list[Request] = []
        for text in sample_texts():
            words = text.split(" ")
            # In the first words, where no model's length can cut it off.
            words[min(len(words) - 1, 12) // 2] = spec["mask_text"]
            found.append({"text": " ".join(words), "logits": True})
        return found

    def timed(self) -> dict[str, Request]:
        mask = self._mask()[1]
        return {
            f"{texts} × {tokens}": {"text": [f"{mask} {self.words(tokens - 1)}"] * texts}
            for texts, tokens in SHAPES
        }

    def calibration(self) -> list[Feed]:
        feeds = super().calibration()
        return [feed | {"positions": np.array([[feed["input_ids"].shape[1] // 2]])} for feed in feeds]

    def probes(self) -> list[Feed]:
        return [
            {"input_ids": feed["input_ids"], "positions": np.zeros((len(feed["input_ids"]), 1), np.int64)}
            for feed in super().probes()
        ]

    def spec(self) -> dict[str, Any]:
        mask, text = self._mask()
        return {
            "dimensions": self.source.vocabulary,
            "per_token": False,
            "mask": mask,
            "mask_text": text,
            **super().spec(),
        }

    def describe(self) -> dict[str, Any]:
        return {
            "inputs": {"text": f"a text with {self._mask()[1]} in it, or a list of such texts"},
            "outputs": {"filled": "what may stand there, the likeliest first"},
        }
