"""A function: an event in, an answer out. Everything that starts one comes through here."""

from posix import listdir

from coldpress_runtime import settings, trace
from coldpress_runtime.events import LIMIT, batch_source, http_source
from coldpress_runtime.faults import BadRequest, LoadError
from coldpress_runtime.jsontext import loads
from coldpress_runtime.model import open_model, read_spec
from coldpress_runtime.tasks import open_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from typing import Any

    from coldpress_runtime.events import BatchSource
    from coldpress_runtime.many.choice import Many
    from coldpress_runtime.sink import Sink
    from coldpress_runtime.tasks import Task


class Function:
    """The function at `root`. With `load` the model is opened now, else by the first request."""

    def __init__(self, root: str, load: bool = True) -> None:
        self._root = root
        self._libraries = (f"{root}/lib", settings.LIBRARY_LAYER)
        self._task: Task | None = None
        #: held while something is computed, where several requests are under way at a time
        self.turn: LockType | None = None
        #: all of its models, if there are several
        self.many: Many | None = None
        self._folder = _only_model(root)
        if not self._folder:
            from coldpress_runtime.many import choice

            self._task = self.many = choice.Many(f"{root}/models", self._libraries, lambda: self.turn)
        token = settings.variable("COLDPRESS_TOKEN_SHA256")
        if token:
            from coldpress_runtime.token import expected_digest

            token = expected_digest(token)
        self.token_sha256 = token
        sink = settings.variable("COLDPRESS_SINK")
        self._sink = self._open_sink(sink) if sink else None
        if load and self.many is not None:
            self.many.preload()
        elif load:
            self.task()

    @property
    def spec(self) -> "dict[str, Any]":
        return read_spec(self._folder)

    @property
    def name(self) -> str:
        return self._folder.rpartition("/")[2]

    @property
    def opened(self) -> "Task | None":
        """The task, if it is open."""
        return self._task

    def task(self) -> "Task":
        if self._task is None:
            self._task = open_task(open_model(self._folder, self._libraries, settings.threads()))
        return self._task

    def answer(self, data: bytes) -> str:
        """Answer an event given as JSON, as JSON."""
        try:
            event = loads(data)
        except BadRequest as error:
            return _refusal(error)
        del data
        trace.mark("request")
        return self._handle(event)

    def call(self, event: object) -> object:
        """Answer an event with a value, for callers that turn it into JSON themselves."""
        return loads(self.handle(event))

    def handle(self, event: object) -> str:
        """Answer an event that was parsed already, as JSON."""
        return self._handle(dict(event) if isinstance(event, dict) else event)

    def _handle(self, event: object) -> str:
        """Answer an event that nobody else looks at: what was read is dropped, for it may weigh megabytes."""
        source = http_source(event)
        if source is None:
            if isinstance(event, dict) and (many := batch_source(event)) is not None:
                return self._batch(many, event)
            return self._direct(event)
        from coldpress_runtime import http

        assert isinstance(event, dict)
        try:
            request = source.decode(event)
        except BadRequest as error:
            return source.encode(http.Reply(error.status, http.error_body(error)), event)
        event["body"] = None
        text = source.encode(http.answer(self, request, source.LIMIT), event)
        if len(text) > source.LIMIT:  # quotes and backslashes grew when the answer was wrapped
            refusal = _too_large(len(text), source.LIMIT)
            text = source.encode(http.Reply(refusal.status, http.error_body(refusal)), event)
        return text

    def _batch(self, source: "BatchSource", event: "dict[str, object]") -> str:
        """Work from a queue, a stream or a bucket: answers go to the sink, and Lambda hears what failed."""
        from coldpress_runtime import batch

        if self._sink is None:
            self._sink = self._open_sink("log")
        if hasattr(source, "answer"):  # it stores what it finds itself
            text: str = source.answer(self.task(), event)
            return text
        return batch.answer(self.task(), self._sink, source, event)

    def _open_sink(self, said: str) -> "Sink":
        from coldpress_runtime.sink import open_sink

        return open_sink(said)

    def _direct(self, event: object) -> str:
        try:
            text = self.task().routes["/"](event, LIMIT)
            if len(text) > LIMIT:
                raise _too_large(len(text), LIMIT)
        except BadRequest as error:
            return _refusal(error)
        return text


def _refusal(error: BadRequest) -> str:
    from coldpress_runtime.http import error_body

    return error_body(error)


def _too_large(size: int, limit: int) -> BadRequest:
    return BadRequest(
        413, "answer_too_large", f"the answer has {size} bytes; the limit is {limit}: send fewer inputs"
    )


def _only_model(root: str) -> str:
    folder = f"{root}/models"
    try:
        names = listdir(folder)
    except OSError as error:
        raise LoadError(f"{folder} cannot be read: {error.strerror}; build the function again") from None
    if "index.json" in names:  # which is there for many, and says more about them
        return ""
    if len(names) != 1:
        raise LoadError(f"{folder} holds {len(names)} models and no index.json: build the function again")
    return f"{folder}/{names[0]}"
