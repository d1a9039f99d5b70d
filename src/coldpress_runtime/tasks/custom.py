"""A person's own class, for what no task covers: `load` once, then `predict`, or `predict_batch` for a list.

Their module lies in the function's `code/`, what it requires in `packages/`.
"""

import sys

from coldpress_runtime.context import Context
from coldpress_runtime.faults import BadRequest, CodeError, LoadError
from coldpress_runtime.jsontext import dumps, quote
from coldpress_runtime.tasks.texts import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from coldpress_runtime.model import Model
    from coldpress_runtime.tasks import Route

_EXAMPLE = '{"text": "…"}'
#: far more than answers have, far less than Python itself can follow
_DEEPEST = 300


class Custom:
    #: requests that its predict_batch is given at once, where it has one
    batch_limit = 256

    def __init__(self, model: "Model") -> None:
        root = model.folder.rsplit("/", 2)[0]
        self._own = _made(root, model.spec["code"])
        load = getattr(self._own, "load", None)
        if load is not None:
            load(Context(model, root))
        #: whether a generator's pieces are wanted one by one: they are left in `pieces`, and the text is empty
        self.streams = False
        self.pieces: Iterator[object] | None = None
        self.routes: dict[str, Route] = {"/": self.plain}

    def plain(self, request: object, room: int) -> str:
        if isinstance(request, list):
            return self._many(request)
        if not isinstance(request, dict):
            raise BadRequest(
                400, "wrong_type", f"the request must be an object such as {_EXAMPLE}, or a list: {shown(request)}"
            )
        answer = self._own.predict(request)
        if self.streams and _is_stream(answer):
            self.pieces = answer
            return ""
        return written(_whole(answer))

    def _many(self, requests: "list[Any]") -> str:
        if not requests:
            raise BadRequest(400, "empty_input", "the list is empty; send at least one request")
        for at, request in enumerate(requests):
            if not isinstance(request, dict):
                raise BadRequest(
                    400, "wrong_type", f"[{at}] must be an object such as {_EXAMPLE}: {shown(request)}"
                )
        batch = getattr(self._own, "predict_batch", None)
        if batch is None:
            return written([_whole(self._own.predict(request)) for request in requests])
        answers: Any = _whole(batch(requests))
        self._check_count(answers, len(requests))
        return written([_whole(answer) for answer in answers])

    def batch_key(self, body: object) -> str | None:
        return "" if getattr(self._own, "predict_batch", None) is not None else None

    def many(self, bodies: "list[Any]", room: int) -> list[str]:
        answers = _whole(self._own.predict_batch(bodies))
        self._check_count(answers, len(bodies))
        return [written(_whole(answer)) for answer in answers]  # type: ignore[attr-defined]

    def _check_count(self, answers: "Any", due: int) -> None:
        if not isinstance(answers, (list, tuple)) or len(answers) != due:
            found = f"{len(answers)} answers" if isinstance(answers, (list, tuple)) else shown(answers)
            raise CodeError(f"predict_batch was given {due} requests and returned {found}; one each is due")


def _made(root: str, code: str) -> "Any":
    """An instance of the class that `code` names, as `module:Class`."""
    module, _, name = code.partition(":")
    places = [place for place in (f"{root}/code", f"{root}/packages") if place not in sys.path]
    # Our own loop has the standard library before us and nothing else; other clients bring packages of theirs.
    at = len(sys.path) if sys.flags.isolated else 0
    sys.path[at:at] = places
    found = getattr(__import__(module), name, None)
    if not isinstance(found, type) or not callable(getattr(found, "predict", None)):
        what = "is not there" if found is None else "has no predict(self, inputs)"
        raise LoadError(f"{code}: the class {name} {what}; coldpress.toml names it as `code`")
    return found()


def _is_stream(value: object) -> bool:
    return hasattr(value, "__next__")


def _whole(answer: "Any") -> object:
    """An answer that is not streamed: of a generator all pieces, as a list."""
    return [*answer] if _is_stream(answer) else answer


def written(answer: object) -> str:
    """An answer as JSON; where it has no such form, an error that says at which place."""
    try:
        return dumps(answer)
    except (TypeError, ValueError, RecursionError) as error:
        trouble = _find_trouble(answer, "answer", _DEEPEST) or f"the answer has no JSON form: {error}"
    raise CodeError(trouble)


def _find_trouble(value: object, place: str, depth: int) -> str | None:
    """What in `value` has no JSON form, and where."""
    if depth == 0:
        return f"{place[:200]}… is nested too deeply for JSON, or holds itself"
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, (str, int, float)) and key is not None:
                return f"{place} has the key {shown(key)}; keys are texts in JSON"
    inner = _items(value, place)
    if inner is None:
        return _no_json(value, place)
    return next(filter(None, (_find_trouble(one, where, depth - 1) for where, one in inner)), None)


def _items(value: object, place: str) -> "list[tuple[str, object]] | None":
    """What lies in a dict or a list, each with its place."""
    if isinstance(value, dict):
        return [(f"{place}[{quote(key) if isinstance(key, str) else key}]", one) for key, one in value.items()]
    if isinstance(value, (list, tuple)):
        return [(f"{place}[{at}]", one) for at, one in enumerate(value)]
    return None


def _no_json(value: object, place: str) -> str | None:
    if isinstance(value, float) and value - value != 0:
        return f"{place} is {value}, which JSON does not have; answer with a number or None"
    if isinstance(value, (str, int, float)) or value is None:
        return None
    hint = "; it has a tolist(): answer with that" if hasattr(value, "tolist") else ""
    if isinstance(value, (bytes, bytearray, memoryview)):
        hint = "; write bytes as base64, in a text"
    return f"{place} is of the type {type(value).__name__}, which has no JSON form{hint}"
