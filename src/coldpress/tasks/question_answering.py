"""A question and a text → where in the text the answer stands."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from coldpress.tasks import Request
from coldpress.tasks.text import SHAPES, sample_texts, text_in
from coldpress.tasks.token_classification import WordsTask
from coldpress_runtime.tasks.question_answering import SHARED, WINDOW

if TYPE_CHECKING:
    from torch import Tensor, nn

EXAMPLE = '{"question": "…", "context": "…"}'


class QuestionAnswering(WordsTask):
    pairs = True

    def _load(self) -> "nn.Module":
        from coldpress.tasks.heads import load_logits

        return load_logits(self.source, "AutoModelForQuestionAnswering")

    def _inputs(self, tokenizer: Any, request: Request) -> "Iterator[tuple[Tensor, ...]]":
        import torch

        most = min(self.source.max_tokens, WINDOW)
        question, context = text_in(request, "question", EXAMPLE), text_in(request, "context", EXAMPLE)
        own = len(tokenizer(question, add_special_tokens=False)["input_ids"])
        room = most - self.tokenizer.frame.pair_tokens - own
        windows = tokenizer(
            question,
            context,
            truncation="only_second",
            max_length=most,
            stride=min(SHARED, room // 2),
            return_overflowing_tokens=True,
        )
        for at, ids in enumerate(windows["input_ids"]):
            types = windows["token_type_ids"][at] if "token_type_ids" in windows else [0] * len(ids)
            yield (torch.tensor([ids]), torch.tensor([types]))[: 2 if self.typed else 1]

    @classmethod
    def asked(cls, spec: Mapping[str, Any]) -> list[Request]:
        texts = sample_texts()
        return [
            {
                "question": " ".join(text.split()[:10]),
                "context": f"{texts[at - 1]} {text} {texts[at - 2]}",
                "logits": True,
            }
            for at, text in enumerate(texts)
        ]

    def timed(self) -> dict[str, Request]:
        return {
            f"{texts} × {tokens}": {
                "question": [self.words(8)] * texts,
                "context": [self.words(tokens - 7)] * texts,
            }
            for texts, tokens in SHAPES
        }

    def spec(self) -> dict[str, Any]:
        return {"dimensions": 2, **super().spec()}

    def describe(self) -> dict[str, Any]:
        return {
            "inputs": {"question": "a text, or a list", "context": "the text to look in, or a list"},
            "outputs": {"answer": "a part of the context, its place and score"},
        }
