"""What a plan assumes beside what was measured. Each can be set, and all are printed."""

import re
from dataclasses import dataclass, field

from coldpress.errors import UsageError

#: Lambda fetches and unpacks a package before its init, in no metric: some 4 to 8 ms for each megabyte
PLACING_MS_PER_MB = 6.0
#: a small server of each architecture that there are prices for
_OWN = {"x86_64": "c7i.large", "arm64": "m7g.large"}


@dataclass(frozen=True)
class SageMaker:
    """What an endpoint of SageMaker Serverless takes for a request."""

    ms: float = 560.0
    memory_gb: float = 4.0
    cold_ms: float = 2000.0
    concurrency: int = 200
    source: str = "assumed: 4 GB for 560 ms, 2 s when cold"


@dataclass(frozen=True)
class Server:
    """A server, what it can do, and who says so."""

    kind: str
    rate: float
    source: str
    #: of one request alone; None: nobody said, and it does one after the other
    ms: float | None = None


@dataclass(frozen=True)
class Options:
    memory_mb: int | None = None
    only: tuple[str, ...] = ()
    #: seconds that Lambda keeps an unused sandbox: it promises none
    idle: float = 300.0
    concurrency: int = 1000
    scale_up: int = 1000
    #: before an init; None: by the package's size
    placing_ms: float | None = None
    #: durations on arm64 over those measured; None: nobody knows, and the same are taken
    arm64_factor: float | None = None
    #: what a SnapStart restore takes; None: nobody knows, and 200 ms are taken
    restore_ms: float | None = None
    provisioned: int | None = None
    #: from this hour to that one, so many
    schedule: tuple[float, float, int] | None = None
    #: least, most, target
    autoscale: tuple[int, int, float] | None = None
    sagemaker: SageMaker = field(default_factory=SageMaker)
    bytes_in_out: int = 10_000
    #: servers whose throughput is said, and those that run this very function on their vCPUs
    servers: tuple[Server, ...] = ()
    own_servers: tuple[str, ...] | None = None
    managed: str | None = None
    managed_least: int = 3
    terms: str = "on_demand_hour"
    #: how full servers are in the busiest minute
    utilization: float = 0.7
    free_tier: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("--idle", self.idle, 0.001, 86_400),
            ("--concurrency", self.concurrency, 1, 1_000_000),
            ("--placing-ms", self.placing_ms or 0, 0, 60_000),
            ("--arm64-factor", 1 if self.arm64_factor is None else self.arm64_factor, 0.01, 100),
            ("--restore-ms", self.restore_ms or 0, 0, 60_000),
            ("--provisioned", 1 if self.provisioned is None else self.provisioned, 1, self.concurrency),
            ("--scale-up", self.scale_up, 1, 1_000_000_000),
            ("--bytes", self.bytes_in_out, 0, 10_000_000),
            ("--managed-least", self.managed_least, 1, 10_000),
            ("--utilization", self.utilization, 0.01, 1),
        ):
            if not least <= value <= most:
                raise UsageError(f"{name} {value:g} is out of range: from {least:g} to {most:,}")

    def own_servers_for(self, arch: str) -> tuple[str, ...]:
        """Servers that run this very function, of its own architecture."""
        return (_OWN[arch],) if self.own_servers is None else self.own_servers

    def managed_for(self, arch: str) -> str:
        return self.managed or _OWN[arch]

    def placing_ms_for(self, package_mb: float) -> float:
        return PLACING_MS_PER_MB * package_mb if self.placing_ms is None else self.placing_ms


def read_schedule(text: str) -> tuple[float, float, int]:
    """8-20=5: five from eight to twenty o'clock."""
    found = re.fullmatch(r"(\d{1,2}(?:\.\d+)?)-(\d{1,2}(?:\.\d+)?)=(\d{1,6})", text)
    if not found or not (float(found[1]) <= 24 and float(found[2]) <= 24 and int(found[3]) > 0):
        raise UsageError(f"--schedule {text!r} is not understood: write hours and a count, as 8-20=5")
    return float(found[1]), float(found[2]), int(found[3])


def read_autoscale(text: str) -> tuple[int, int, float]:
    """1:20@0.7: between one and twenty, so that 70 % of them work."""
    found = re.fullmatch(r"(\d{1,6}):(\d{1,6})@(0?\.\d+|1|1\.0|\d{1,3}%)", text)
    if not found:
        raise UsageError(f"--autoscale {text!r} is not understood: write MIN:MAX@TARGET, as 1:20@0.7")
    target = float(found[3][:-1]) / 100 if found[3].endswith("%") else float(found[3])
    if not (1 <= int(found[1]) <= int(found[2]) and 0 < target <= 1):
        raise UsageError(f"--autoscale {text!r} is out of range: 1 ≤ MIN ≤ MAX, and a target above 0 up to 1")
    return int(found[1]), int(found[2]), target


def read_server(text: str, source: str | None) -> Server:
    """g4dn.xlarge=900@40: a type, how many requests a second one does with this model, and how long one takes."""
    found = re.fullmatch(r"([\w.-]+)=(\d+(?:\.\d+)?)(?:@(\d+(?:\.\d+)?)(?:ms)?)?", text)
    if not found or not 0 < float(found[2]) < 1e9 or not 0 < float(found[3] or 1) <= 900_000:
        raise UsageError(
            f"--server {text!r} is not understood: write a type and the requests a second that one does with this "
            f"model, as g4dn.xlarge=900, or with the milliseconds of one, as g4dn.xlarge=900@40; "
            f"no figure is true "
            f"for every model"
        )
    return Server(found[1], float(found[2]), source or "as given", float(found[3]) if found[3] else None)


def read_sagemaker(text: str) -> SageMaker:
    """560ms,4GB,2000ms: a request, the endpoint's memory, and what a cold start adds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)ms,(\d+(?:\.\d+)?)GB,(\d+(?:\.\d+)?)ms", text.replace(" ", ""))
    ms, memory, cold = (float(found[number]) for number in (1, 2, 3)) if found else (0.0, 0.0, 0.0)
    if not (0 < ms <= 60_000 and 1 <= memory <= 6 and cold <= 900_000):
        raise UsageError(
            f"--sagemaker {text!r} is not understood: write a request's milliseconds (up to 60,000), the memory "
            f"(1 to 6 GB) and what a cold start adds, as 560ms,4GB,2000ms"
        )
    return SageMaker(ms, memory, cold, source=f"as given: {memory:g} GB for {ms:g} ms, {cold:g} ms more when cold")


_SLO = re.compile(r"(p50|p95|p99|mean)=(\d+(?:\.\d+)?)(ms|s)|(cold|throttled)=(\d+(?:\.\d+)?)%")


def read_slo(text: str) -> dict[str, float]:
    """p99=300ms,cold=1%,throttled=0.1% as milliseconds and shares."""
    wanted: dict[str, float] = {}
    for part in text.split(","):
        found = _SLO.fullmatch(part.strip())
        if not found:
            raise UsageError(
                f"--slo has {part.strip()!r}, which is not understood: p50, p95, p99 or mean with ms or s, "
                f"cold or throttled with %, as p99=300ms,throttled=0.1%"
            )
        if found[1]:
            wanted[found[1]] = float(found[2]) * (1000 if found[3] == "s" else 1)
        else:
            wanted[found[4]] = float(found[5]) / 100
    return wanted
