"""Our Runtime and Invoke APIs against the official emulator's, with AWS's own client and with a runtime that
breaks the rules. Where they differ, it is on purpose and listed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from emulate_judges import Answer, official, ours, place, post, without_ids

pytestmark = pytest.mark.usefixtures("rie")

GOOD: dict[str, Any] = {
    "a dict": {"do": "echo", "value": {"a": 1, "b": [True, None, 1.5]}},
    "a list": {"do": "echo", "value": [1, [2, [3]]]},
    "a string": {"do": "echo", "value": "plain"},
    "an empty string": {"do": "echo", "value": ""},
    "a number": {"do": "echo", "value": 1e300},
    "null": {"do": "echo", "value": None},
    "unicode": {"do": "echo", "value": "žluťoučký kůň 日本 🐎 \u0000 \u2028"},
    "a tuple": {"do": "tuple"},
    "keys that are no strings": {"do": "keys"},
    "a decimal": {"do": "decimal"},
    "an event without a do": {"nothing": "to do"},
    "an event that is a list": [1, 2],
    "an event that is a string": "event",
    "an event that is null": None,
    "deep": json.loads("[" * 200 + "]" * 200),
    "a large event": {"do": "count", "value": "y" * 5_000_000},
    "a large answer": {"do": "large", "size": 5_000_000},
    "prints": {"do": "print"},
    "its context": {"do": "context"},
}
BAD: dict[str, Any] = {
    "raises": {"do": "raise", "kind": "ValueError", "value": "wrong value"},
    "raises its own": {"do": "raise", "kind": "Refused", "value": "wrong 🐎"},
    "raises without words": {"do": "raise", "kind": "Refused", "value": ""},
    "raises a KeyError": {"do": "raise", "kind": "KeyError", "value": "key"},
    "raises from another": {"do": "nested"},
    "an unknown thing to do": {"do": "nothing such"},
    "recursion": {"do": "recurse"},
    "an interrupt": {"do": "interrupt"},
    "a set": {"do": "set"},
    "bytes": {"do": "bytes"},
    "an object": {"do": "object"},
    "a circle": {"do": "circular"},
    "NaN": {"do": "nan"},
    "half a character": {"do": "surrogate"},
    "an answer that is too large": {"do": "large", "size": 6_291_557},
    "sys.exit 0": {"do": "sys_exit", "code": 0},
    "sys.exit 3": {"do": "sys_exit", "code": 3},
    "exit 0": {"do": "exit", "code": 0},
    "exit 7": {"do": "exit", "code": 7},
    "killed": {"do": "signal", "number": 9},
    "terminated": {"do": "signal", "number": 15},
    "aborted": {"do": "signal", "number": 6},
    "a null pointer": {"do": "crash"},
}
IMPORTS: dict[str, dict[str, str]] = {
    "no such module": {"JUDGED": "nowhere.handler"},
    "no such handler": {"JUDGED": "handlers.nothing"},
    "raises at import": {"JUDGED": "at_import.handler", "AT_IMPORT": "raise"},
}
EXITS: dict[str, tuple[dict[str, str], int]] = {
    "exits at import": ({"JUDGED": "at_import.handler", "AT_IMPORT": "exit"}, 5),
    "sys.exit at import": ({"JUDGED": "at_import.handler", "AT_IMPORT": "sys-exit"}, 6),
}
RULES: dict[str, dict[str, Any]] = {
    "an unknown id": {"do": "call", "method": "POST", "path": "/2018-06-01/runtime/invocation/none/response"},
    "an error for an unknown id": {
        "do": "call",
        "method": "POST",
        "path": "/2018-06-01/runtime/invocation/none/error",
    },
    "a stale id": {"do": "call", "method": "POST", "path": "/2018-06-01/runtime/invocation/{last}/response"},
    "init error while it runs": {"do": "call", "method": "POST", "path": "/2018-06-01/runtime/init/error"},
    "an unknown path": {"do": "call", "method": "GET", "path": "/2018-06-01/runtime/nothing"},
    "another version": {"do": "call", "method": "GET", "path": "/2017-01-01/runtime/invocation/next"},
    "an unknown end": {"do": "call", "method": "POST", "path": "/2018-06-01/runtime/invocation/{id}/nothing"},
    "POST to next": {"do": "call", "method": "POST", "path": "/2018-06-01/runtime/invocation/next"},
    "GET of a response": {"do": "call", "method": "GET", "path": "/2018-06-01/runtime/invocation/{id}/response"},
    "next twice": {"do": "next"},
    "restore without SnapStart": {"do": "call", "method": "POST", "path": "/2018-06-01/runtime/restore/error"},
}
AFTER: dict[str, dict[str, Any]] = {
    "answered twice": {"do": "then", "method": "POST", "path": "/2018-06-01/runtime/invocation/{id}/response"},
    "an error after the answer": {
        "do": "then",
        "method": "POST",
        "path": "/2018-06-01/runtime/invocation/{id}/error",
    },
}
#: what ours does better than the official emulator, and why
ON_PURPOSE = {
    "time-out": "the official one answers in plain text, unmarked; ours Lambda's JSON, marked Unhandled",
    "function errors": "the official one does not mark them; ours sends X-Amz-Function-Error, as Lambda does",
    "status of an exit": "the official one answers 502; ours 200, marked Unhandled, as Lambda does",
    "an exit at init": "the official one answers nothing at all; ours Lambda's own error",
    "an event that is no JSON": "the official one hands it to the function; ours answers 400, as Lambda does",
    "Content-Length": "the official one streams large answers; ours says how long they are",
}


class Pair:
    """One function under both."""

    def __init__(self, theirs: str, own: str) -> None:
        self._theirs, self._own = theirs, own

    def ask(self, event: object) -> tuple[Answer, Answer]:
        body = json.dumps(event).encode()
        return post(self._theirs, body), post(self._own, body)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = place("judged", tmp_path_factory.mktemp("judged"))
    with official(folder, {}) as theirs, ours(folder, {}) as own:
        yield Pair(theirs, own)


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = place("raw", tmp_path_factory.mktemp("raw"))
    with official(folder, {}) as theirs, ours(folder, {}) as own:
        yield Pair(theirs, own)


@pytest.mark.parametrize("case", GOOD)
def test_the_same_answer(judged: Pair, case: str) -> None:
    theirs, own = judged.ask(GOOD[case])
    assert own.body == theirs.body
    assert (own.status, own.function_error) == (theirs.status, None) == (200, None)


@pytest.mark.parametrize("case", BAD)
def test_the_same_error(judged: Pair, case: str) -> None:
    theirs, own = judged.ask(BAD[case])
    assert _comparable(own) == _comparable(theirs)
    if case not in ("NaN", "half a character", "bytes"):  # which AWS's client sends as answers
        assert (own.status, own.function_error) == (200, "Unhandled")
    # And the next request is served as if nothing had been.
    assert judged.ask({"do": "echo", "value": case})[1].value == case


@pytest.mark.parametrize("case", IMPORTS)
def test_the_same_failure_at_init(tmp_path: Path, case: str) -> None:
    folder = place("judged", tmp_path)
    with official(folder, IMPORTS[case]) as theirs, ours(folder, IMPORTS[case]) as own:
        first, second = post(theirs, b"{}"), post(own, b"{}")
    assert _comparable(second) == _comparable(first)
    assert (second.status, second.function_error) == (200, "Unhandled")


@pytest.mark.parametrize("case", EXITS)
def test_exits_at_init_differ_on_purpose(tmp_path: Path, case: str) -> None:
    folder, (env, code) = place("judged", tmp_path), EXITS[case]
    with official(folder, env) as theirs, ours(folder, env) as own:
        first, second = post(theirs, b"{}"), post(own, b"{}")
    assert (first.status, first.body) == (502, "")
    assert second.value["errorType"] == "Runtime.ExitError"
    assert second.value["errorMessage"].endswith(f" Error: Runtime exited with error: exit status {code}")
    assert (second.status, second.function_error) == (200, "Unhandled")


@pytest.mark.parametrize("case", RULES)
def test_the_same_rules(raw: Pair, case: str) -> None:
    raw.ask({"do": "before"})
    theirs, own = raw.ask(RULES[case])
    assert without_ids(own.body) == without_ids(theirs.body)


@pytest.mark.parametrize("case", AFTER)
def test_the_same_rules_after_an_answer(raw: Pair, case: str) -> None:
    raw.ask(AFTER[case])
    theirs, own = raw.ask({"do": "after"})
    assert own.body == theirs.body
    assert "InvalidStateTransition" in own.body


def test_the_same_rules_before_the_first_next(tmp_path: Path) -> None:
    folder, env = place("raw", tmp_path), {"BEFORE_NEXT": "1"}
    with official(folder, env) as theirs, ours(folder, env) as own:
        event = b'{"do": "before"}'
        assert post(own, event).body == post(theirs, event).body


def test_time_outs_differ_on_purpose(judged: Pair) -> None:
    theirs, own = judged.ask({"do": "sleep", "seconds": 10})
    assert "Task timed out after 2.00 seconds" in theirs.body and theirs.function_error is None
    assert own.value["errorType"] == "Sandbox.Timedout"
    assert own.value["errorMessage"].endswith("Error: Task timed out after 2.00 seconds")
    assert own.function_error == "Unhandled"
    assert 2 <= own.seconds < 2.6


def test_events_that_are_no_json_differ_on_purpose(judged: Pair) -> None:
    own = post(judged._own, b"{no json")
    assert own.status == 400
    assert "Could not parse request body into json" in own.body


def test_the_table_has_thirty_cases() -> None:
    assert sum(map(len, (GOOD, BAD, IMPORTS, EXITS, RULES, AFTER))) + 3 >= 30


def _comparable(answer: Answer) -> object:
    """The parsed body without what differs from run to run."""
    text = without_ids(answer.body)
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, dict):
        value.pop("stackTrace", None)
        value.pop("requestId", None)
    return value
