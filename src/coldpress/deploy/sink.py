"""Where the answers to events go (COLDPRESS_SINK)."""

from dataclasses import dataclass

from coldpress.deploy.places import Place
from coldpress.deploy.queues import Queue
from coldpress.errors import UsageError

VARIABLE = "COLDPRESS_SINK"


@dataclass(frozen=True)
class Sink:
    #: as the function is told
    said: str
    #: one of them at most; neither for the log
    place: Place | None = None
    queue: Queue | None = None

    @classmethod
    def parse(cls, text: str) -> "Sink":
        """s3://bucket/prefix, a queue, or log."""
        if text == "log":
            return cls(text)
        if text.startswith("s3://"):
            return cls(text, place=Place.parse("--sink", text))
        if not text.startswith(("arn:", "https://", "http://")):
            raise UsageError(f"--sink {text!r} is not known; it can be s3://bucket/prefix, a queue's URL, or log")
        queue = Queue.parse("--sink", text)
        return cls(queue.url, queue=queue)
