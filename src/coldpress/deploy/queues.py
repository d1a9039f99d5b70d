"""Queues, as people name them: by an ARN or by a URL."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from coldpress.errors import UsageError

#: of SQS: letters, digits, - and _, at most 80 of them with the ending of a queue that keeps its order
_NAME = re.compile(r"(?=.{1,80}$)[A-Za-z0-9_-]+(\.fifo)?")
_ACCOUNT = re.compile(r"[0-9]{12}")
_REGION = re.compile(r"[a-z]{2,}(-[a-z]+)+-[0-9]")
#: by how a region's name begins: AWS's partition, and its hosts' ending
_PARTITIONS = {
    "cn": ("aws-cn", "amazonaws.com.cn"),
    "us-gov": ("aws-us-gov", "amazonaws.com"),
    "eusc-de": ("aws-eusc", "amazonaws.eu"),
}
_USUAL = ("aws", "amazonaws.com")
#: hosts of AWS's own: today's, those with a standard that governments ask for, those of IPv6, the oldest ones
_HOSTS = re.compile(
    r"sqs(?:-fips)?\.(?P<new>[a-z0-9-]+)\.(?:amazonaws\.com(?:\.cn)?|amazonaws\.eu|api\.aws)"
    r"|(?:(?P<old>[a-z0-9-]+)\.)?queue\.amazonaws\.com"
)
#: messages in a batch that Lambda takes: of any queue, and of one without an order
MOST_IN_ORDER, MOST = 10, 10_000


@dataclass(frozen=True)
class Queue:
    name: str
    account: str
    #: None: wherever the function is, for an address that is not AWS's
    region: str | None
    #: as it was given, or as AWS would have it
    url: str

    @classmethod
    def parse(cls, flag: str, text: str) -> "Queue":
        found = _of_arn(text) if text.startswith("arn:") else _of_url(text)
        if found is None:
            raise UsageError(
                f"{flag} {text!r} is not a queue; write it as arn:aws:sqs:eu-west-1:123456789012:jobs, or by its "
                f"URL (https://sqs.eu-west-1.amazonaws.com/123456789012/jobs)"
            )
        return found

    @property
    def fifo(self) -> bool:
        return self.name.endswith(".fifo")

    def arn(self, region: str) -> str:
        """`region`: the function's, for a queue that does not tell its own."""
        here = self.region or region
        return f"arn:{_partition(here)[0]}:sqs:{here}:{self.account}:{self.name}"


def _partition(region: str) -> tuple[str, str]:
    return _PARTITIONS.get(region.rsplit("-", 2)[0], _USUAL)


def _of_arn(text: str) -> Queue | None:
    parts = text.split(":")
    if len(parts) != 6:
        return None
    _, partition, service, region, account, name = parts
    if service != "sqs" or not _fits(account, name) or not _REGION.fullmatch(region):
        return None
    known, ending = _partition(region)
    if partition != known:
        return None
    return Queue(name, account, region, f"https://sqs.{region}.{ending}/{account}/{name}")


def _of_url(text: str) -> Queue | None:
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
    except ValueError:
        return None
    path = parts.path.split("/")
    if parts.scheme not in ("https", "http") or not host or len(path) != 3 or not _fits(path[1], path[2]):
        return None
    if parts.query or parts.fragment or parts.username is not None or parts.password is not None:
        return None
    known = _HOSTS.fullmatch(host)
    region = (known["new"] or known["old"] or "us-east-1") if known else None
    if region is not None and not _REGION.fullmatch(region):
        return None
    return Queue(path[2], path[1], region, text)


def _fits(account: str, name: str) -> bool:
    return bool(_ACCOUNT.fullmatch(account) and _NAME.fullmatch(name))
