"""Text → labels for its parts."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coldpress.tasks import Request
from coldpress.tasks.text import TextTask, text_in

if TYPE_CHECKING:
    from torch import Tensor, nn

CONTINUATIONS = "continuations.bin"


class WordsTask(TextTask):
    """A task whose answers are made of whole words."""

    def extras(self, work: Path) -> tuple[Path, ...]:
        bits = self.tokenizer.continuations()
        if bits is None:
            return ()
        (work / CONTINUATIONS).write_bytes(bits)
        return (work / CONTINUATIONS,)

    def spec(self) -> dict[str, Any]:
        return {
            "per_token": True,
            "frame": self.tokenizer.frame.json(),
            "continuations": None if self.tokenizer.continuations() is None else CONTINUATIONS,
            "unknown": self.tokenizer.unknown(),
            **super().spec(),
        }


class TokenClassification(WordsTask):
    def _load(self) -> "nn.Module":
        from coldpress.tasks.heads import load_logits

        return load_logits(self.source, "AutoModelForTokenClassification")

    def _inputs(self, tokenizer: Any, request: Request) -> "Iterator[tuple[Tensor, ...]]":
        text = text_in(request, "text", '{"text": "…"}')
        inputs = tokenizer(text, truncation=True, max_length=self.source.max_tokens, return_tensors="pt")
        yield (inputs["input_ids"],)

    def spec(self) -> dict[str, Any]:
        return {"labels": list(self.source.labels), "dimensions": len(self.source.labels), **super().spec()}

    def describe(self) -> dict[str, Any]:
        return {
            "inputs": {"text": "a text, or a list of texts"},
            "outputs": {"entities": "what was found, with its place", "labels": list(self.source.labels)},
        }
