"""A job on AWS: a Distributed Map of Step Functions asks the deployed function, on objects in buckets."""

import json
import time
from dataclasses import dataclass, field
from typing import Any

from coldpress.bulk import bucket, grants, machine
from coldpress.bulk.execution import Execution
from coldpress.bulk.job import Chunk, Job, check_same, fitting_chunk, refuse_existing
from coldpress.bulk.outcome import Tally
from coldpress.bulk.places import Bucketed, Pattern
from coldpress.bulk.result import Failure, Result
from coldpress.bulk.workers import UNKNOWN
from coldpress.cost.bill import LambdaUse, lambda_bill
from coldpress.cost.book import price_book, regions
from coldpress.deploy.aws import PATIENCE, Aws
from coldpress.deploy.calling import ask
from coldpress.deploy.wanted import ALIAS, check_name
from coldpress.errors import DeployError, FunctionError, UsageError
from coldpress.progress import Progress, Silent

CONCURRENCY = 100
_DENIED = ("403", "AccessDenied")
_SHOWN = 500


def map_aws(
    aws: Aws,
    source: str,
    to: str,
    name: str,
    *,
    resume: bool = False,
    chunk_bytes: int | None = None,
    concurrency: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Answers to all lines of the objects that `source` names, as objects below `to`."""
    check_name(name)
    if aws.local:
        raise UsageError(
            "the local Lambda has no buckets and no Step Functions: answer files here with --local DIR"
        )
    began, progress = time.monotonic(), progress or Silent()
    read, written = Bucketed.parse("FROM", source), Bucketed.parse("--to", to)
    config = aws.find("lambda", "get_function_configuration", FunctionName=name, Qualifier=ALIAS)
    if config is None:
        raise DeployError(f"there is no function {name} with an alias {ALIAS} in {aws.region}: deploy it first")
    with progress.stage("list") as say:
        pattern, inputs = bucket.bucket_inputs(aws, read, written)
        cut = chunk_bytes or fitting_chunk(inputs, concurrency or CONCURRENCY)
        job = Job(tuple(inputs), str(config["CodeSha256"]), cut)
        there = bucket.parts_there(aws, written)
        job = _begun(aws, job, written, there, resume, chunk_bytes)
        chunks = job.chunks()
        say(f"{len(inputs):,} files, {sum(one.size for one in inputs) / 1e6:,.1f} MB, {len(chunks):,} stretches")
    work = _Work(aws, name, config, read.bucket, pattern, written)
    left = [chunk for chunk in chunks if chunk.part not in there]
    if left:
        work.run(left, concurrency or CONCURRENCY, progress)
        there = bucket.parts_there(aws, written)
    done = {chunk.part for chunk in chunks} & there
    if len(done) == len(chunks):
        work.tidy()
    whole = [one for one in job.inputs if all(chunk.part in done for chunk in job.chunks_of(one))]
    return Result(
        chunks=len(chunks),
        done=len(done),
        done_before=len(chunks) - len(left),
        lines=work.tally.lines,
        failed_lines=work.tally.failed,
        failures=work.failures(left, done),
        outputs=[f"s3://{written.bucket}/{written.below}{one.name}/" for one in whole],
        seconds=time.monotonic() - began,
        dollars=work.dollars(),
        note="Lambda's share of this run, without inits and second tries",
    )


def _begun(aws: Aws, asked: Job, to: Bucketed, there: set[str], resume: bool, chunk_bytes: int | None) -> Job:
    """The job that is there and is to go on, or a new one."""
    found = bucket.find_job(aws, to)
    if found is None:
        taken = next((chunk.part for chunk in asked.chunks() if chunk.part in there), None)
        if taken:
            raise UsageError(f"s3://{to.bucket}/{to.below}{taken} is there already: choose another --to")
        bucket.keep_job(aws, to, asked)
        return asked
    if not resume:
        parts = {chunk.part for chunk in found.chunks()}
        raise refuse_existing(str(to), done=len(parts & there), of=len(parts))
    check_same(found, asked, str(to))
    if chunk_bytes and chunk_bytes != found.chunk_bytes:
        raise UsageError(f"the job in {to} is cut by --chunk {found.chunk_bytes}, not {chunk_bytes}: leave it out")
    return found


@dataclass
class _Work:
    aws: Aws
    name: str
    config: dict[str, Any]
    source: str
    pattern: Pattern
    to: Bucketed
    tally: Tally = field(default_factory=Tally)

    @property
    def _policy(self) -> str:
        return f"{machine.POLICY}-{machine.mark(self.to)}"

    @property
    def _function_arn(self) -> str:
        return str(machine.function_arn(self.aws.partition, self.aws.region, self.aws.account, self.name))

    def run(self, left: list[Chunk], concurrency: int, progress: Progress) -> None:
        """One stretch is asked here first: what would fail ten thousand times fails once, and says why."""
        execution = Execution(self.aws, machine.machine_name(self.name), self.to)
        if not execution.find_running():
            with progress.stage("try") as say:
                self._try(left[0])
                say(f"{self.tally.lines:,} lines in {self.tally.ms / 1000:,.1f} s")
            left = left[1:]
            if not left:
                return
            arn, role = grants.make_machine(self.aws, self.name, self._function_arn)
            new = grants.grant(self.aws, role, self._policy, machine.stretches_policy(self.aws.partition, self.to))
            bucket.keep_stretches(self.aws, self.to, left, self.source)
            execution.start(arn, concurrency, patient=new)
        each = self._price(self.tally.asked, self.tally.ms) / max(1, self.tally.asked)
        with progress.stage("map") as say:
            execution.watch(say, self.tally, each)

    def _try(self, chunk: Chunk) -> None:
        own = grants.own_role(self.aws, str(self.config["Role"]))
        needed = machine.function_policy(self.aws.partition, self.source, self.pattern.base, self.to)
        new = own is not None and grants.grant(self.aws, own, self._policy, needed)
        event = json.dumps(chunk.event(self.source, self.to.bucket, self.to.below)).encode()
        end = time.monotonic() + (PATIENCE if new else 0)
        while True:
            asked = ask(self.aws, self.name, ALIAS, event, log=False)
            said = asked.body[:_SHOWN].decode(errors="replace")
            denied = not asked.ok and any(word in said for word in _DENIED)
            if not denied or time.monotonic() > end:
                break
            self.aws.pause(2.0)  # what a role may do is not known everywhere at once
        if denied:
            raise DeployError(
                f"{self.name} may not read or write there: {said}; its role {self.config['Role']} must allow "
                f"{'; '.join(_allowed(needed))}"
            )
        if not asked.ok:
            raise FunctionError(
                f"{self.name} failed on {chunk.part}: {said}; a stretch that takes too long or too much memory is "
                "made smaller by --chunk"
            )
        try:
            self.tally.add(json.loads(asked.body))
        except (ValueError, LookupError, TypeError):
            raise FunctionError(f"{UNKNOWN}, and deploy it; it answered: {said}") from None

    def failures(self, left: list[Chunk], done: set[str]) -> list[Failure]:
        """Of those that still have no answers, with the reasons that are known."""
        known = {one.part: one for one in self.tally.failures}
        missing = [chunk.part for chunk in left if chunk.part not in done]
        return [known.get(part, Failure(part, "it was not asked, or its result is not known")) for part in missing]

    def tidy(self) -> None:
        """What the roles were allowed for this job alone."""
        roles = [grants.own_role(self.aws, str(self.config["Role"])), grants.machine_role(self.aws, self.name)]
        for role in roles:
            if role:
                grants.take_back(self.aws, role, self._policy)

    def dollars(self) -> float:
        return self._price(self.tally.asked, self.tally.ms)

    def _price(self, requests: int, ms: int) -> float:
        region = self.aws.region if self.aws.region in regions() else "us-east-1"
        arch = str((self.config.get("Architectures") or ["x86_64"])[0])
        use = LambdaUse(requests, ms, int(self.config["MemorySize"]), arch)
        return lambda_bill(use, price_book(region)).dollars


def _allowed(document: dict[str, Any]) -> list[str]:
    return [f"{one['Action']} on {one['Resource']}" for one in document["Statement"]]
