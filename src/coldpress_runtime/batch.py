"""Many requests in one forward pass, and their answers where they belong."""

from coldpress_runtime.events import LIMIT
from coldpress_runtime.faults import BadRequest, Fault
from coldpress_runtime.http import error_body
from coldpress_runtime.jsontext import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from coldpress_runtime.events import BatchSource
    from coldpress_runtime.events.items import Item
    from coldpress_runtime.sink import Sink


class Undone(Fault):
    """Something of an event failed that can only be given again as a whole."""


def answer(task: "Any", sink: "Sink", source: "BatchSource", event: dict[str, object]) -> str:
    """What an event asks, asked and stored; tells Lambda what is to come again."""
    found = source.items(event)
    _ask(task, found)
    source.settle(found)
    _store(sink, found)
    failed = [item for item in found if item.trouble is not None]
    for item in failed:
        _tell(item)
    if source.PARTIAL:
        return dumps({"batchItemFailures": [{"itemIdentifier": item.id} for item in failed]})
    if failed:
        raise Undone(f"{len(failed)} of {len(found)} failed, the first one: {failed[0].id}: {failed[0].trouble}")
    return dumps({"stored": len(found)})


def ask_many(task: "Any", values: list[object]) -> "list[str | Exception]":
    """An answer or what is wrong, for each; those that may go together go through the model at once."""
    if hasattr(task, "spread"):  # over several models
        spread: list[str | Exception] = task.spread(values)
        return spread
    made: list[str | Exception] = [value if isinstance(value, BadRequest) else "" for value in values]
    waiting: dict[str, list[int]] = {}
    for at, value in enumerate(values):
        if isinstance(value, BadRequest):
            continue
        key = task.batch_key(value) if isinstance(value, dict) and hasattr(task, "batch_key") else None
        if key is None:
            made[at] = _one(task, value)
        else:
            waiting.setdefault(key, []).append(at)
    for places in waiting.values():
        most = task.batch_limit
        for begin in range(0, len(places), most):
            _together(task, values, places[begin : begin + most], made)
    return made


def _together(task: "Any", values: list[object], places: list[int], made: "list[str | Exception]") -> None:
    if len(places) > 1:
        try:
            answers = task.many([values[at] for at in places], LIMIT)
        except Exception:  # one of them is wrong, or too long, or the code fails: who it is shows one by one
            answers = None
        if answers is not None:
            for at, text in zip(places, answers, strict=True):
                made[at] = text
            return
    for at in places:
        made[at] = _one(task, values[at])


def _one(task: "Any", value: object) -> "str | Exception":
    try:
        text: str = task.routes["/"](value, LIMIT)
    except Exception as trouble:
        return trouble
    return text


def _ask(task: "Any", found: "list[Item]") -> None:
    """All values of all items at once, however they are spread over them."""
    values = [value for item in found if item.trouble is None for value in item.values]
    answers = iter(ask_many(task, values))
    for item in found:
        if item.trouble is not None:
            continue
        given = [next(answers) for _ in item.values]
        if item.is_lines:
            item.answers = [one if isinstance(one, str) else as_line(one) for one in given]
        elif isinstance(given[0], str):
            item.answers = [given[0]]
        else:
            item.trouble = given[0]


def as_line(trouble: Exception) -> str:
    if isinstance(trouble, BadRequest):
        return error_body(trouble)
    return dumps({"error": {"code": type(trouble).__name__, "message": str(trouble)[:500]}})


def _store(sink: "Sink", found: "list[Item]") -> None:
    """What is answered; what could not be stored has not been done."""
    good = [item for item in found if item.trouble is None]
    troubles = sink.write([(item.key, item.text, item.is_lines) for item in good])
    for item, trouble in zip(good, troubles, strict=True):
        item.trouble = trouble


def _tell(item: "Item") -> None:
    from sys import stderr

    trouble = item.trouble
    stderr.write(f"[ERROR] {item.id} failed: {type(trouble).__name__}: {str(trouble)[:500]}\n")
    stderr.flush()
