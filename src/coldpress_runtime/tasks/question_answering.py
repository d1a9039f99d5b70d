"""A question and a text → where in the text the answer stands, as transformers' question-answering gave it."""

from coldpress_runtime.faults import BadRequest
from coldpress_runtime.jsontext import dumps
from coldpress_runtime.tasks.reader import Reader
from coldpress_runtime.tasks.scores import count, number, softmax
from coldpress_runtime.tasks.texts import fields, flag, texts
from coldpress_runtime.tasks.words import Words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from coldpress_runtime.model import Model
    from coldpress_runtime.tasks import Route
    from coldpress_runtime.tasks.tokenizer import Spans

#: texts longer than a window are read in several, which share this many tokens
SHARED = 128
WINDOW = 384
LONGEST_ANSWER = 15


class Window:
    """A part of a text, with the question before it, as the model reads it."""

    __slots__ = ("first", "ids", "of", "own", "spans", "types")

    def __init__(
        self, of: int, own: list[int], spans: "Spans", framed: tuple[list[int], list[int]], first: int
    ) -> None:
        self.of = of
        self.own = own
        self.spans = spans
        self.ids, self.types = framed
        #: where the text's own tokens begin
        self.first = first


class QuestionAnswering:
    def __init__(self, model: "Model") -> None:
        self._reader = Reader(model)
        self._words = Words(model)
        self.routes: dict[str, Route] = {"/": self.plain}

    def plain(self, request: object, room: int) -> str:
        body = fields(request, '{"question": "…", "context": "…"}')
        limits = self._reader.limits
        questions, contexts = texts(body, "question", limits), texts(body, "context", limits)
        if len(contexts) == 1:
            contexts *= len(questions)
        if len(questions) != len(contexts):
            raise BadRequest(
                400,
                "wrong_shape",
                f"'question' holds {len(questions)} texts and 'context' {len(contexts)}; "
                "send as many of each, or one context for all",
            )
        top = count(body, "top_k", 1) or LONGEST_ANSWER
        longest = count(body, "max_answer_len", LONGEST_ANSWER) or LONGEST_ANSWER
        impossible = flag(body, "handle_impossible_answer", False)
        windows = self._windows(questions, contexts)
        answers = self._reader.numbers([one.ids for one in windows], [one.types for one in windows])
        if flag(body, "logits", False):
            return dumps({"logits": [[number(one) for one in row] for row in answers]})
        found: list[list[dict[str, Any]]] = [[] for _ in questions]
        nothing = [1.0] * len(questions)
        for window, logits in zip(windows, answers, strict=True):
            spans, null = self._best(window, contexts[window.of], logits, top, longest)
            found[window.of] += spans
            nothing[window.of] = min(nothing[window.of], null)
        for at, spans in enumerate(found):
            if impossible:
                spans.append({"score": number(nothing[at]), "start": 0, "end": 0, "answer": ""})
            spans.sort(key=lambda span: -span["score"])
        if "top_k" in body and top > 1:
            cut: list[Any] = [_different(spans)[:top] for spans in found]
        else:
            cut = [spans[0] if spans else {"score": 0.0, "start": 0, "end": 0, "answer": ""} for spans in found]
        return dumps(cut[0] if isinstance(body["question"], str) else cut)

    def _windows(self, questions: list[str], contexts: list[str]) -> list[Window]:
        reader = self._reader
        parts = reader.tokenizer.parts([*questions, *contexts])
        windows = []
        for at in range(len(questions)):
            question, (tokens, spans) = parts[at][0], parts[at + len(questions)]
            whole = min(reader.max_tokens, WINDOW) - reader.max_tokens + reader.pair_room()
            question = question[: max(1, whole // 2)]
            size = whole - len(question)
            step = size - min(SHARED, size // 2)
            first = reader.first_of_second(question)
            for start in range(0, max(1, len(tokens)), step):
                own = tokens[start : start + size]
                framed = reader.framed(question, own)
                windows.append(Window(at, own, spans[start : start + size], framed, first))
                if start + size >= len(tokens):
                    break
        return windows

    def _best(
        self, window: Window, text: str, logits: list[float], top: int, longest: int
    ) -> "tuple[list[dict[str, Any]], float]":
        """The likeliest answers inside a window, and how likely it is that there is none."""
        first, size = window.first, len(window.own)
        # Only the text's own tokens can be an answer; the very first token stands for "no answer".
        starts = softmax([logits[0], *logits[2 * first : 2 * (first + size) : 2]])
        ends = softmax([logits[1], *logits[2 * first + 1 : 2 * (first + size) : 2]])
        null = starts[0] * ends[0]
        wanted = 4 * top  # several runs of tokens may stand for the same words
        best: list[tuple[float, int, int]] = []
        for start in sorted(range(1, size + 1), key=lambda at: -starts[at]):
            if len(best) == wanted and starts[start] <= best[-1][0]:
                break  # no span is likelier than its start
            best += [
                (starts[start] * ends[end], start, end) for end in range(start, min(start + longest, size + 1))
            ]
            best = sorted(best, key=lambda span: -span[0])[:wanted]
        return [self._span(window, text, *span) for span in best], null

    def _span(self, window: Window, text: str, score: float, start: int, end: int) -> "dict[str, Any]":
        """Made of whole words: an answer never begins or ends inside one."""
        from_token, to_token = start - 1, end - 1
        while from_token > 0 and self._goes_on(window, text, from_token):
            from_token -= 1
        while to_token + 1 < len(window.own) and self._goes_on(window, text, to_token + 1):
            to_token += 1
        begin, stop = window.spans[from_token][0], window.spans[to_token][1]
        return {"score": number(score), "start": begin, "end": stop, "answer": text[begin:stop]}

    def _goes_on(self, window: Window, text: str, at: int) -> bool:
        return self._words.goes_on(window.own[at], text, window.spans[at][0])


def _different(spans: "list[dict[str, Any]]") -> "list[dict[str, Any]]":
    """Each answer once: several runs of tokens may stand for the same words."""
    seen: set[tuple[int, int]] = set()
    kept = []
    for span in spans:
        place = (span["start"], span["end"])
        if place not in seen:
            seen.add(place)
            kept.append(span)
    return kept
