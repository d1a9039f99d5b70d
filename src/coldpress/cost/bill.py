"""Bills: what was used, times what is asked for it, line by line."""

from dataclasses import dataclass, field

from coldpress.cost.book import LambdaPrices, PriceBook, Tier

SECONDS_A_MONTH = 730 * 3600
_MB_PER_GB = 1024
#: what a sandbox has of /tmp without paying for it
FREE_TMP_MB = 512
#: a SnapStart version is paid for three hours at least
SNAPSTART_LEAST_SECONDS = 3 * 3600


@dataclass(frozen=True)
class Line:
    what: str
    quantity: float
    unit: str
    dollars: float


@dataclass(frozen=True)
class Bill:
    lines: list[Line] = field(default_factory=list)

    @property
    def dollars(self) -> float:
        return sum(line.dollars for line in self.lines)


@dataclass(frozen=True)
class LambdaUse:
    """A month of a function. Milliseconds are billed ones: each invocation's rounded up, its init included."""

    requests: int
    billed_ms: float
    memory_mb: int
    arch: str = "x86_64"
    tmp_mb: int = FREE_TMP_MB
    #: of what was streamed, the part of each request beyond 6 MB
    streamed_bytes: float = 0.0
    #: environments kept ready, for how long, and the milliseconds that ran in them (not in billed_ms)
    provisioned: float = 0.0
    provisioned_seconds: float = 0.0
    provisioned_ms: float = 0.0
    #: how long a SnapStart version was kept, and how often it was restored
    snapstart_seconds: float = 0.0
    restores: int = 0


def lambda_bill(use: LambdaUse, book: PriceBook, *, free_tier: bool = False) -> Bill:
    prices = book.lambda_
    gb = use.memory_mb / _MB_PER_GB
    used = use.billed_ms / 1000 * gb
    requests, gb_seconds = float(use.requests), used
    lines = []
    if free_tier and not use.provisioned:  # a function with provisioned concurrency has none
        requests = max(0.0, requests - prices.free_requests.value)
        gb_seconds = max(0.0, gb_seconds - prices.free_gb_seconds.value)
    lines.append(Line("requests", requests, "requests", requests * prices.request.value))
    lines.append(Line("duration", gb_seconds, "GB-s", tiered(gb_seconds, prices.gb_second[use.arch])))
    lines += _provisioned(use, prices, gb)
    extra_tmp = max(0, use.tmp_mb - FREE_TMP_MB) / _MB_PER_GB
    if extra_tmp:
        seconds = (use.billed_ms + use.provisioned_ms) / 1000
        lines.append(
            Line("temporary files", extra_tmp * seconds, "GB-s", extra_tmp * seconds * prices.tmp_gb_second.value)
        )
    if use.streamed_bytes:
        streamed = use.streamed_bytes / 1e9
        lines.append(Line("streaming", streamed, "GB", streamed * prices.streamed_gb.value))
    if use.snapstart_seconds or use.restores:
        kept = max(use.snapstart_seconds, SNAPSTART_LEAST_SECONDS) * gb
        lines.append(Line("SnapStart cache", kept, "GB-s", kept * prices.snapstart_cache_gb_second.value))
        restored = use.restores * gb
        lines.append(Line("SnapStart restores", restored, "GB", restored * prices.snapstart_restore_gb.value))
    return Bill(lines)


def _provisioned(use: LambdaUse, prices: LambdaPrices, gb: float) -> list[Line]:
    """Ready environments cost while they wait, and less than others while they run."""
    if not use.provisioned:
        return []
    ready = use.provisioned * use.provisioned_seconds * gb
    ran = use.provisioned_ms / 1000 * gb
    kept, running = prices.provisioned_gb_second[use.arch], prices.provisioned_running_gb_second[use.arch]
    return [
        Line("provisioned", ready, "GB-s", ready * kept.value),
        Line("provisioned, running", ran, "GB-s", ran * running.value),
    ]


def tiered(quantity: float, tiers: list[Tier]) -> float:
    """Each part of a quantity at its own tier's price."""
    dollars, begun = 0.0, 0.0
    for tier in tiers:
        end = quantity if tier.up_to is None else min(quantity, tier.up_to)
        dollars += max(0.0, end - begun) * tier.price.value
        begun = max(begun, end)
    return dollars


def sagemaker_bill(book: PriceBook, *, seconds: float, memory_gb: float, bytes_in_out: float = 0.0) -> Bill:
    """Serverless inference: computing time of the memory that was chosen, 1 to 6 GB, and data both ways."""
    used, moved = seconds * memory_gb, bytes_in_out / 1e9
    return Bill(
        [
            Line("duration", used, "GB-s", used * book.sagemaker_gb_second.value),
            Line("data", moved, "GB", moved * book.sagemaker_gb_in_out.value),
        ]
    )


def server_bill(
    book: PriceBook, kind: str, *, servers: float, hours: float, terms: str = "on_demand_hour"
) -> Bill:
    """Servers cost by the hour, busy or not."""
    return Bill([Line(f"{kind}, {terms}", servers * hours, "h", servers * hours * book.ec2[kind][terms].value)])


def managed_bill(book: PriceBook, kind: str, *, servers: float, hours: float, requests: float) -> Bill:
    """Lambda on instances of one's own account: their price, a fee on it, and requests; no duration."""
    rent = server_bill(book, kind, servers=servers, hours=hours).dollars
    fee = rent * book.lambda_.managed_instances_fee.value
    return Bill(
        [
            Line(kind, servers * hours, "h", rent),
            Line("Managed Instances", servers * hours, "h", fee),
            Line("requests", requests, "requests", requests * book.lambda_.request.value),
        ]
    )
