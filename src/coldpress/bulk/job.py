"""A job: files, cut into stretches that one invocation answers, and what has to stay the same while it lasts.

A line belongs to the stretch that it begins in (the function sees to that), so a file's size is all that is needed
to cut it, and the same job is always cut the same way.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from coldpress.errors import UsageError

FORMAT = 1
#: bytes of a stretch: a second or more of work for one vCPU; less in a small job, which few would have to do
CHUNK, SMALL_CHUNK = 128 * 1024, 8 * 1024
#: stretches for each that is asked at once, so that all of them end at about the same time
_EACH = 16
LEAST_CHUNK, MOST_CHUNK = 1024, 64 * 1024 * 1024
#: where a job keeps what it needs for itself, below its output
OWN = ".coldpress"
#: of all stretches, how many may fail before the rest is not tried any more
TOLERATED_PERCENT = 10


@dataclass(frozen=True)
class Input:
    """A file: `name` is what its answers are called, `key` where it lies, `tag` changes when its content does."""

    name: str
    key: str
    size: int
    tag: str


@dataclass(frozen=True)
class Chunk:
    input: Input
    number: int
    start: int
    stop: int

    @property
    def part(self) -> str:
        """What its answers are called."""
        return f"{self.input.name}/part-{self.number:05}.jsonl"

    def event(self, source: str, target: str, below: str = "") -> dict[str, Any]:
        """What the function is asked: the same everywhere. `source` and `target` are buckets."""
        place = self.input
        read = {"bucket": source, "key": place.key, "start": self.start, "stop": self.stop}
        return {
            "coldpress": "map",
            "from": {**read, "size": place.size, "tag": place.tag},
            "to": {"bucket": target, "key": f"{below}{self.part}"},
        }


@dataclass(frozen=True)
class Job:
    inputs: tuple[Input, ...]
    #: names the very function that answers: its code, not its name
    model: str
    chunk_bytes: int

    def __post_init__(self) -> None:
        if not LEAST_CHUNK <= self.chunk_bytes <= MOST_CHUNK:
            raise UsageError(f"--chunk {self.chunk_bytes} is not from {LEAST_CHUNK:,} to {MOST_CHUNK:,} bytes")

    def chunks_of(self, one: Input) -> Iterator[Chunk]:
        for number, start in enumerate(range(0, max(one.size, 1), self.chunk_bytes)):
            yield Chunk(one, number, start, min(start + self.chunk_bytes, one.size))

    def chunks(self) -> list[Chunk]:
        return [chunk for one in self.inputs for chunk in self.chunks_of(one)]

    def text(self) -> str:
        """As job.json has it."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n"


def fitting_chunk(inputs: list[Input], at_once: int) -> int:
    """How a job is cut when nobody says."""
    return max(SMALL_CHUNK, min(CHUNK, sum(one.size for one in inputs) // (_EACH * at_once)))


def read_job(text: str | bytes, place: str) -> Job:
    """What `text()` wrote, wherever it was kept."""
    try:
        content = json.loads(text)
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']!r} is not {FORMAT}")
        inputs = tuple(_input(one) for one in content["inputs"])
        return Job(inputs, _of(str, content["model"]), _of(int, content["chunk_bytes"]))
    except (ValueError, LookupError, TypeError) as error:
        said = f"{type(error).__name__}: {error}"
        raise UsageError(
            f"{place} is no job of this coldpress ({said}): choose another --to, or delete it"
        ) from None


def check_same(there: Job, asked: Job, place: str) -> None:
    """A job goes on only with what it began with: otherwise its answers would not belong together."""
    if there.model != asked.model:
        raise UsageError(
            f"the job in {place} was begun with another model ({there.model[:12]}, now {asked.model[:12]}): "
            "go on with that one, or choose another --to"
        )
    before, now = ({one.name: one for one in job.inputs} for job in (there, asked))
    changed = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    if changed:
        gone = [name for name in changed if name not in now]
        new = [name for name in changed if name not in before]
        words = "is gone" if changed[0] in gone else "is new" if changed[0] in new else "has changed"
        more = f", and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise UsageError(
            f"the inputs of the job in {place} are not what they were: {changed[0]} {words}{more}; "
            "give it the same ones, or choose another --to"
        )


def refuse_existing(place: str, *, done: int, of: int) -> UsageError:
    """Somebody's job is there, and nobody said to go on with it."""
    state = "all of it is done" if done == of else f"{done:,} of {of:,} stretches are done"
    return UsageError(f"{place} holds a job already, {state}: go on with it by --resume, or choose another --to")


def _input(said: Any) -> Input:
    return Input(_of(str, said["name"]), _of(str, said["key"]), _of(int, said["size"]), _of(str, said["tag"]))


def _of(kind: Any, value: Any) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value
