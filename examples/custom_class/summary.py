"""A summary in a text's own words: the sentences that say most of what the whole says, and nothing twice."""

import re
from pathlib import Path

from coldpress_runtime.context import Context
from coldpress_runtime.faults import BadRequest

Vector = list[float]

MOST = 200  # sentences; each is a text that the model reads


def likeness(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


class Summary:
    def load(self, ctx: Context) -> None:
        self.embed = ctx.task("model")
        self.abbreviations = tuple(Path(ctx.folder, "abbreviations.txt").read_text(encoding="utf-8").split())

    def predict(self, inputs: dict[str, object]) -> dict[str, object]:
        text, wanted = inputs.get("text"), inputs.get("sentences", 2)
        if not isinstance(text, str) or not text.strip():
            raise BadRequest(400, "missing_text", "the field 'text' is missing, or says nothing")
        if not isinstance(wanted, int) or wanted < 1:
            raise BadRequest(400, "wrong_number", f"the field 'sentences' is {wanted!r}; it takes 1 or more")
        sentences = self.split(text)
        if len(sentences) > MOST:
            raise BadRequest(413, "too_long", f"the text has {len(sentences)} sentences; {MOST} are read at most")
        vectors: list[Vector] = self.embed({"text": sentences})["embeddings"]
        chosen = pick(vectors, wanted)
        return {"summary": " ".join(sentences[at] for at in chosen), "sentences_read": len(sentences)}

    def split(self, text: str) -> list[str]:
        sentences: list[str] = []
        for part in re.split(r"(?<=[.!?])\s+", text.strip()):
            if sentences and sentences[-1].endswith(self.abbreviations):
                sentences[-1] += f" {part}"
            else:
                sentences.append(part)
        return sentences


def pick(vectors: list[Vector], wanted: int) -> list[int]:
    """One after the other: near to what the text is about, and far from what is said already."""
    whole = [sum(column) / len(vectors) for column in zip(*vectors, strict=True)]
    chosen: list[int] = []
    left = [*range(len(vectors))]
    while left and len(chosen) < wanted:
        best = max(left, key=lambda at: likeness(vectors[at], whole) - said(vectors, chosen, at) / 2)
        left.remove(best)
        chosen.append(best)
    return sorted(chosen)


def said(vectors: list[Vector], chosen: list[int], at: int) -> float:
    return max((likeness(vectors[at], vectors[other]) for other in chosen), default=0.0)
