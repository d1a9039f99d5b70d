"""What a map run came to, as Step Functions writes it down: a file for each way that stretches ended."""

import json
from dataclasses import dataclass, field
from typing import Any

from coldpress.bulk.bucket import read_json
from coldpress.bulk.result import Failure
from coldpress.deploy.aws import Aws

_SHOWN = 500


@dataclass
class Tally:
    """Of the stretches that this run asked for."""

    asked: int = 0
    lines: int = 0
    failed: int = 0
    ms: int = 0
    failures: list[Failure] = field(default_factory=list)

    def add(self, answer: Any) -> None:
        """A function's own numbers."""
        self.asked += 1
        self.lines += int(answer["lines"])
        self.failed += int(answer["failed"])
        self.ms += int(answer["ms"])


def read_outcome(aws: Aws, output: str, below: str, tally: Tally) -> None:
    """`output` is the execution's own, which says where the files are."""
    place = _loads(output).get("ResultWriterDetails", {})
    if "Bucket" not in place or "Key" not in place:
        return
    files = (read_json(aws, place["Bucket"], place["Key"]) or {}).get("ResultFiles", {})
    for one in files.get("SUCCEEDED", []):
        for child in read_json(aws, place["Bucket"], one["Key"]) or []:
            answer = _loads(child.get("Output", ""))
            if {"lines", "failed", "ms"} <= answer.keys():
                tally.add(answer)
    for one in files.get("FAILED", []):
        for child in read_json(aws, place["Bucket"], one["Key"]) or []:
            tally.failures.append(_failure(child, below))


def _failure(child: dict[str, Any], below: str) -> Failure:
    """Which stretch it was, and why: a Lambda's error is JSON inside the cause."""
    part = str(_loads(child.get("Input", "")).get("to", {}).get("key", child.get("Name", "?")))
    cause = str(child.get("Cause", ""))
    said = _loads(cause).get("errorMessage") or cause
    return Failure(part.removeprefix(below), f"{child.get('Error', child.get('Status', ''))}: {said}"[:_SHOWN])


def _loads(text: Any) -> dict[str, Any]:
    """An object in a text, or an empty one."""
    try:
        found = json.loads(text)
    except (ValueError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}
