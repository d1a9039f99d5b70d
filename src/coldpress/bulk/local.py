"""A job on this machine: the local Lambda answers, and files are its buckets."""

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from coldpress.artifact import MANIFEST, Artifact
from coldpress.bulk.job import (
    OWN,
    TOLERATED_PERCENT,
    Chunk,
    Job,
    check_same,
    fitting_chunk,
    read_job,
    refuse_existing,
)
from coldpress.bulk.joining import Joining
from coldpress.bulk.ledger import Done, Ledger
from coldpress.bulk.places import local_inputs
from coldpress.bulk.result import Failure, Result
from coldpress.bulk.store import Files, serving
from coldpress.bulk.workers import Asked, Workers
from coldpress.emulate.front.server import Address
from coldpress.emulate.sandboxes.settings import Settings
from coldpress.emulate.serving import Options, running
from coldpress.errors import Interrupted, TargetError, UsageError
from coldpress.progress import Progress, Say, Silent
from coldpress.words import rate_text

#: seconds that a stretch may take: as much as Lambda lets a function have
_TIMEOUT = 900.0
_JOB, _DONE, _PARTS, _LOCK = "job.json", "done.jsonl", "parts", "lock"


def map_local(
    source: str,
    to: Path,
    artifact: Path,
    *,
    resume: bool = False,
    chunk_bytes: int | None = None,
    concurrency: int | None = None,
    memory_mb: int = 1769,
    progress: Progress | None = None,
) -> Result:
    """Answers to all lines of the files that `source` names, as files of the same names in `to`."""
    pressed = Artifact.open(artifact)
    base, inputs = local_inputs(source, to)
    model = hashlib.sha256((pressed.path / MANIFEST).read_bytes()).hexdigest()
    count = concurrency or len(os.sched_getaffinity(0))
    asked = Job(tuple(inputs), model, chunk_bytes or fitting_chunk(inputs, count))
    with _held(to) as own:
        job = _begun(asked, own, to, resume, chunk_bytes)
        work = _Work(job, base, to, own, Ledger(own / _DONE))
        try:
            return work.run(pressed, count, memory_mb, progress or Silent())
        finally:
            work.ledger.close()


@contextmanager
def _held(to: Path) -> Iterator[Path]:
    """The job's own folder, which nobody else uses meanwhile."""
    own = to / OWN
    try:
        own.mkdir(parents=True, exist_ok=True)
        file = (own / _LOCK).open("wb")
    except OSError as error:
        raise _unwritable(to, error) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{to} is being written by another coldpress map: wait for it") from None
        yield own


def _unwritable(to: Path, error: OSError) -> TargetError:
    return TargetError(f"{to} cannot be written: {error}; make room, or choose another --to")


def _begun(asked: Job, own: Path, to: Path, resume: bool, chunk_bytes: int | None) -> Job:
    """The job that is there and is to go on, or a new one."""
    path = own / _JOB
    if not path.exists():
        taken = next((one.name for one in asked.inputs if (to / one.name).exists()), None)
        if taken:
            raise UsageError(f"{to / taken} is there already and would be overwritten: choose another --to")
        beside = path.with_suffix(".partial")
        beside.write_text(asked.text(), encoding="utf-8")
        beside.replace(path)
        return asked
    there = read_job(path.read_bytes(), str(path))
    if not resume:
        ledger = Ledger(own / _DONE)
        ledger.close()
        raise refuse_existing(str(to), done=len(ledger.done), of=len(there.chunks()))
    check_same(there, asked, str(to))
    if chunk_bytes and chunk_bytes != there.chunk_bytes:
        raise UsageError(f"the job in {to} is cut by --chunk {there.chunk_bytes}, not {chunk_bytes}: leave it out")
    return there


@dataclass
class _Work:
    job: Job
    base: Path
    to: Path
    own: Path
    ledger: Ledger

    def run(self, artifact: Artifact, count: int, memory_mb: int, progress: Progress) -> Result:
        began = time.monotonic()
        parts = self.own / _PARTS
        joins = {
            one.name: Joining([*self.job.chunks_of(one)], self.ledger, self.to / one.name, parts)
            for one in self.job.inputs
        }
        chunks = self.job.chunks()
        left = [chunk for chunk in chunks if not joins[chunk.input.name].is_done(chunk)]
        for join in joins.values():
            join.advance()
        failures: list[Failure] = []
        if left:
            with progress.stage("map") as say:
                failures = self._ask(artifact, left, len(chunks), joins, (count, memory_mb), say)
        if all(join.is_whole() for join in joins.values()):
            shutil.rmtree(parts, ignore_errors=True)
        done = [self.ledger.done[chunk.part] for chunk in chunks if joins[chunk.input.name].is_done(chunk)]
        return Result(
            chunks=len(chunks),
            done=len(done),
            done_before=len(chunks) - len(left),
            lines=sum(one.lines for one in done),
            failed_lines=sum(one.failed for one in done),
            failures=failures,
            outputs=[str(join.final) for join in joins.values() if join.is_whole()],
            seconds=time.monotonic() - began,
        )

    def _ask(
        self,
        artifact: Artifact,
        left: list[Chunk],
        of: int,
        joins: dict[str, Joining],
        shares: tuple[int, int],
        say: Say,
    ) -> list[Failure]:
        failures: list[Failure] = []
        inputs = {one.key: (self.base / one.name, one.tag) for one in self.job.inputs}
        outputs = {chunk.part: self.own / _PARTS / chunk.part for chunk in left}
        began, lines = time.monotonic(), 0
        count, memory_mb = min(shares[0], len(left)), shares[1]
        with serving(Files(inputs, outputs)) as store:
            settings = Settings(
                name=artifact.name,
                memory_mb=memory_mb,
                timeout=_TIMEOUT,
                concurrency=count,
                # As many sandboxes as CPUs, each with one thread: more get nothing done, and wait for each other.
                env={**store.environment(), "COLDPRESS_THREADS": "1"},
            )
            with running(artifact.path, settings, Options(Address(port=0), network=True)) as served:
                workers = Workers(served.url, settings.name, left, count, _TIMEOUT + 60)
                try:
                    for asked in workers.results():
                        chunk = asked.chunk
                        if asked.problem:
                            failures.append(Failure(chunk.part, asked.problem))
                            if len(failures) * 100 > of * TOLERATED_PERCENT:
                                break
                            continue
                        self._keep(asked, outputs[chunk.part], joins[chunk.input.name])
                        lines += asked.lines
                        rate = rate_text(lines / (time.monotonic() - began))
                        finished = len(self.ledger.done)
                        say(f"{finished:,} of {of:,} stretches, {lines:,} lines now, {rate}")
                except KeyboardInterrupt:
                    raise Interrupted(
                        f"interrupted; {len(self.ledger.done):,} of {of:,} stretches are answered and kept: "
                        "the same command with --resume goes on"
                    ) from None
                finally:
                    workers.stop()
                    served.local.fleet.hurry()
        return failures

    def _keep(self, asked: Asked, part: Path, join: Joining) -> None:
        try:
            self.ledger.add(Done(asked.chunk.part, part.stat().st_size, asked.lines, asked.failed))
            join.advance()
        except OSError as error:
            raise _unwritable(self.to, error) from None
