"""Reads a book for whoever asks: says of each passage, as soon as it is read, how near it is to the question."""

from collections.abc import Iterator
from pathlib import Path

from coldpress_runtime.context import Context
from coldpress_runtime.faults import BadRequest


class Reader:
    def load(self, ctx: Context) -> None:
        self.embed = ctx.task("model")
        self.passages = Path(ctx.folder, "lighthouse.txt").read_text(encoding="utf-8").strip().split("\n\n")

    def predict(self, inputs: dict[str, object]) -> Iterator[dict[str, object]]:
        question = inputs.get("question")
        if not isinstance(question, str):  # before the first piece, so it is answered with a status, as ever
            raise BadRequest(400, "missing_question", "the field 'question' is missing, or is no text")
        asked = self.vector(question)
        best, where = -1.0, ""
        for number, passage in enumerate(self.passages, 1):
            nearness = sum(a * b for a, b in zip(asked, self.vector(passage), strict=True))
            if nearness > best:
                best, where = nearness, passage
            yield {"passage": number, "nearness": round(nearness, 3)}
        yield {"answer": where}

    def vector(self, text: str) -> list[float]:
        vectors: list[list[float]] = self.embed({"text": text})["embeddings"]
        return vectors[0]
