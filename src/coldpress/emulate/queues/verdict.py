"""Which messages of a batch a function's answer gives back, by Lambda's rules for ReportBatchItemFailures."""

import json
from collections.abc import Collection
from dataclasses import dataclass

_LIST, _NAME = "batchItemFailures", "itemIdentifier"


@dataclass(frozen=True)
class Verdict:
    """The ids that come back; `wrong` says why an answer that could not be read gives all of them back."""

    failed: frozenset[str]
    wrong: str = ""


def judge(answer: bytes, ids: Collection[str]) -> Verdict:
    """Nothing, null, an empty object and an empty or null list mean that all is well; whatever is not understood,
    that nothing is."""
    try:
        said = json.loads(answer) if answer.strip() else None
    except (ValueError, RecursionError):
        return _all(ids, "the answer is no JSON")
    if not isinstance(said, dict | None):
        return _all(ids, f"the answer is {_short(said)}, not an object with {_LIST}")
    listed = (said or {}).get(_LIST)
    if not isinstance(listed, list | None):
        return _all(ids, f"{_LIST} is {_short(listed)}, not a list")
    failed = set()
    for item in listed or ():
        name = item.get(_NAME) if isinstance(item, dict) else None
        if not isinstance(name, str) or name not in ids:
            return _all(ids, f"{_LIST} has {_short(item)}: its {_NAME} must be the messageId of one of the batch")
        failed.add(name)
    return Verdict(frozenset(failed))


def _all(ids: Collection[str], wrong: str) -> Verdict:
    return Verdict(frozenset(ids), wrong)


def _short(value: object) -> str:
    return json.dumps(value)[:80]
