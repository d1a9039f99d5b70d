"""What came of a job."""

import json
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Failure:
    """A stretch that got no answers, in spite of being tried again."""

    part: str
    reason: str


@dataclass(frozen=True)
class Result:
    #: stretches: all of the job, those that are answered now, those that were before
    chunks: int
    done: int
    done_before: int
    #: lines of those that are answered, and how many of them got an error for an answer
    lines: int
    failed_lines: int
    failures: list[Failure] = field(default_factory=list)
    #: where the answers are: a file, or on S3 a folder of parts, for each input that is whole
    outputs: list[str] = field(default_factory=list)
    seconds: float = 0.0
    #: what it cost as far as that is known, and what the figure leaves out
    dollars: float | None = None
    note: str = ""

    @property
    def whole(self) -> bool:
        return self.done == self.chunks

    def as_json(self) -> str:
        return json.dumps({**asdict(self), "whole": self.whole}, indent=1)
