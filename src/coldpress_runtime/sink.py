"""Where the answers to events go: a bucket, a queue, or the log (COLDPRESS_SINK)."""

from coldpress_runtime.faults import LoadError
from coldpress_runtime.jsontext import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    #: where to, the text, and whether it is a request a line
    Written = tuple[str, str, bool]

    class Sink(Protocol):
        def write(self, answers: list[Written]) -> list[Exception | None]: ...


#: objects that are put at once
_AT_ONCE = 8


def open_sink(said: str) -> "Sink":
    if not said or said == "log":
        return Log()
    if said.startswith("s3://"):
        bucket, _, prefix = said[5:].partition("/")
        if bucket:
            return Objects(bucket, prefix.strip("/"))
    if said.startswith(("https://sqs.", "http://", "https://")) and said.count("/") >= 4:
        return Messages(said)
    raise LoadError(f"COLDPRESS_SINK is {said!r}; it can be s3://bucket/prefix, a queue's URL, or log")


class Log:
    """For those who only look."""

    def write(self, answers: "list[Written]") -> list[Exception | None]:
        from sys import stdout

        for key, text, lines in answers:
            stdout.write(_named(key, text, lines) + "\n")
        stdout.flush()
        return [None] * len(answers)


class Objects:
    """An object for each answer, under its key: who writes it again overwrites it."""

    def __init__(self, bucket: str, prefix: str) -> None:
        from coldpress_runtime.aws.s3 import Bucket

        self._prefix = f"{prefix}/" if prefix else ""
        self._open: Callable[[], Bucket] = lambda: Bucket(bucket)
        self._idle: list[Bucket] = []

    def write(self, answers: "list[Written]") -> list[Exception | None]:
        """Several at once: each takes some milliseconds, nearly all of them on the way."""
        made: list[Exception | None] = [None] * len(answers)
        waiting = list(range(len(answers)))

        def work() -> None:
            bucket = self._idle.pop() if self._idle else self._open()
            try:
                while waiting:
                    try:
                        at = waiting.pop()
                    except IndexError:  # another thread was quicker
                        break
                    made[at] = self._put(bucket, answers[at])
            finally:
                self._idle.append(bucket)

        if len(answers) <= 1:
            work()
            return made
        from threading import Thread

        threads = [Thread(target=work) for _ in range(min(_AT_ONCE, len(answers)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return made

    def _put(self, bucket: "object", answer: "Written") -> Exception | None:
        key, text, lines = answer
        kind = "application/x-ndjson" if lines else "application/json"
        ending = "" if lines else ".json"
        try:
            bucket.put(f"{self._prefix}{key}{ending}", text.encode(), kind)  # type: ignore[attr-defined]
        except Exception as trouble:
            return trouble
        return None

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()


class Messages:
    """A message for each answer: {"id": …, "answer": …}."""

    def __init__(self, url: str) -> None:
        from coldpress_runtime.aws.sqs import Queue

        self._queue = Queue(url)

    def write(self, answers: "list[Written]") -> list[Exception | None]:
        texts = [(key, _named(key, text, lines)) for key, text, lines in answers]
        try:
            self._queue.send(texts)
        except Exception as trouble:  # which of them went is not known: those that did will be there twice
            return [trouble] * len(answers)
        return [None] * len(answers)

    def close(self) -> None:
        self._queue.close()


def _named(key: str, text: str, lines: bool) -> str:
    return f'{{"id": {quote(key)}, "answer": {quote(text) if lines else text}}}'
