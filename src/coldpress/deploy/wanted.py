"""What a person wants to run, and how."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coldpress.artifact import Artifact
from coldpress.deploy.places import Place
from coldpress.deploy.queues import MOST, MOST_IN_ORDER, Queue
from coldpress.deploy.scaling import Autoscale, Schedule
from coldpress.deploy.sink import VARIABLE, Sink
from coldpress.deploy.watch import METRICS, Watch
from coldpress.errors import UsageError

if TYPE_CHECKING:
    from coldpress.bulk.places import Places
    from coldpress.deploy.canary import Canary

ALIAS = "live"
URLS = ("iam", "token", "public", "none")
#: whom AWS itself keeps out
CLOSED = ("iam", "none")
#: requests at once that a URL without any guard may cause
PUBLIC_CONCURRENCY = 10
#: of CloudWatch's retention, in days
RETENTIONS = (
    *(1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545),
    *(731, 1096, 1827, 2192, 2557, 2922, 3288, 3653),
)
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LARGEST_ENVIRONMENT = 4096
#: in the description of every function that was made here
OURS = "pressed by coldpress"
TOKEN = "COLDPRESS_TOKEN_SHA256"  # noqa: S105 - a variable's name
#: what a zip needs to be started by its own bootstrap
WRAPPER = {"AWS_LAMBDA_EXEC_WRAPPER": "/var/task/bootstrap"}


def check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a function's name: letters, digits, - and _, at most 64; no ARN")


@dataclass(frozen=True)
class Wanted:
    name: str
    artifact: Artifact
    memory_mb: int = 1769
    timeout: int = 30
    runtime: str = "python3.13"
    env: dict[str, str] = field(default_factory=dict)
    tmp_mb: int = 512
    snapstart: bool = False
    json_log: bool = False
    retention_days: int = 14
    tags: dict[str, str] = field(default_factory=dict)
    #: an ARN; None: one is made that may write its own log, do what sink and queues need, and nothing else
    role: str | None = None
    #: where answers to events go; None: to the log
    sink: Sink | None = None
    #: those that Lambda brings messages of, so many at once
    queues: tuple[Queue, ...] = ()
    batch_size: int = MOST_IN_ORDER
    #: those that tell of the objects that are made there; exports have none
    buckets: tuple[Place, ...] = ()
    #: a dashboard and alarms, which only exports have; the function then writes its metrics
    watch: Watch | None = None
    #: where `coldpress map` reads and writes: a state machine for its jobs, which only exports have
    bulk: "Places | None" = None
    url: str = "iam"
    provisioned: int = 0
    #: changes what is kept ready by use, and by the clock
    autoscale: Autoscale | None = None
    schedules: tuple[Schedule, ...] = ()
    #: requests at once at most; None: what the account has
    reserved: int | None = None
    #: whether a new version must answer the artifact's samples before it is live
    check: bool = True
    #: how it gets traffic before it gets all; None: all at once
    canary: "Canary | None" = None
    #: whether a function of that name may be replaced that was not made here
    adopt: bool = False
    #: what goes to AWS: zip, image, or auto: the zip where there is one
    package: str = "auto"

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.url not in URLS:
            raise UsageError(f"--url {self.url!r} is not known; it can be: {', '.join(URLS)}")
        if self.retention_days not in RETENTIONS:
            raise UsageError(
                f"--retention {self.retention_days} is not one of CloudWatch's: {', '.join(map(str, RETENTIONS))}"
            )
        self._check_scaling()
        self._check_work()
        if self.snapstart and self.tmp_mb > 512:
            raise UsageError(
                f"SnapStart takes /tmp up to 512 MB, not {self.tmp_mb}: leave out --tmp or --snapstart"
            )
        size = sum(len(f"{name}{value}".encode()) for name, value in self.environment().items())
        if size > _LARGEST_ENVIRONMENT:
            raise UsageError(f"the environment has {size:,} bytes; Lambda takes {_LARGEST_ENVIRONMENT:,}")

    def _check_scaling(self) -> None:
        ready = self.provisioned or self.autoscale
        if self.snapstart and ready:
            raise UsageError(
                "SnapStart and provisioned concurrency exclude each other: take one of --snapstart, --provisioned"
            )
        if self.provisioned and self.autoscale:
            raise UsageError(
                f"--provisioned {self.provisioned} is a fixed number, and --autoscale changes it: take one"
            )
        if self.autoscale and not self.autoscale.range.least and not self.schedules:
            raise UsageError("--autoscale from 0 has no use to go by: begin with 1, or add a --schedule that does")
        if self.reserved is not None and self.reserved < self.provisioned:
            raise UsageError(f"--reserved {self.reserved} is less than --provisioned {self.provisioned}")
        if self.schedules and not ready:
            raise UsageError("--schedule changes what is kept ready: say also --autoscale or --provisioned")

    def _check_work(self) -> None:
        if not 1 <= self.batch_size <= MOST:
            raise UsageError(f"--batch-size {self.batch_size} is not from 1 to {MOST:,}")
        into = self.sink and self.sink.queue
        names = [(queue.account, queue.name) for queue in self.queues]
        for queue in self.queues:
            if names.count((queue.account, queue.name)) > 1:
                raise UsageError(f"--queue {queue.name} is there twice")
            if queue.fifo and self.batch_size > MOST_IN_ORDER:
                raise UsageError(
                    f"--batch-size {self.batch_size}: Lambda takes {MOST_IN_ORDER} at most of a queue that keeps "
                    f"its order, as {queue.name}"
                )
        if into and (into.account, into.name) in names:
            raise UsageError(f"answers in {into.name} would be asked again, for ever: take another --sink")
        for place in self.buckets:
            if self.sink and self.sink.place and place.holds(self.sink.place):
                raise UsageError(
                    f"answers in {self.sink.place} would be asked again, for ever: take another --sink"
                )
            overlaps = [one for one in self.buckets if one is not place and place.holds(one)]
            if overlaps:
                raise UsageError(f"--bucket {place} holds {overlaps[0]}: S3 tells of an object once; take one")
        for flag, name, given in (("--sink", VARIABLE, self.sink), ("--watch", METRICS, self.watch)):
            if given and name in self.env:
                raise UsageError(f"{flag} sets {name}, and so does --env: take one")

    @property
    def image(self) -> bool:
        """Whether it is deployed as a container image."""
        if self.package != "auto":
            return self.package == "image"
        return self.artifact.zip is None and self.artifact.image is not None

    @property
    def store(self) -> Place | None:
        """Where its models lie, if that is S3."""
        at = str(self.artifact.manifest.get("many", {}).get("at", ""))
        return Place.parse("--models-at", at) if at.startswith("s3://") else None

    @property
    def architecture(self) -> str:
        return str(self.artifact.manifest["arch"])

    @property
    def concurrency(self) -> int | None:
        """What is open to everybody is capped, so that nobody else decides what it costs."""
        return PUBLIC_CONCURRENCY if self.url == "public" and self.reserved is None else self.reserved

    def environment(self, token_sha256: str | None = None) -> dict[str, str]:
        """A zip's own loop runs by a wrapper; the token is there as its hash only."""
        guard = {TOKEN: token_sha256} if token_sha256 else {}
        sink = {VARIABLE: self.sink.said} if self.sink else {}
        metrics = {METRICS: "on"} if self.watch else {}
        return {**({} if self.image else WRAPPER), **self.env, **sink, **metrics, **guard}
