"""Which rows of AWS's lists a price book wants, and where their figures go."""

import re
from dataclasses import dataclass

from coldpress.cost.refresh.rows import PriceList, Row

#: before a usage type stands its region: USE1-, EUC1-, EU-; in us-east-1 often nothing. Global- is the free tier.
_REGION = re.compile(r"^[A-Z]{2,4}\d?-")
#: a figure's place in a stored book
Path = tuple[str, ...]
EC2_COLUMNS = (
    "Instance Type",
    "Tenancy",
    "Operating System",
    "Pre Installed S/W",
    "CapacityStatus",
    "LeaseContractLength",
    "PurchaseOption",
    "OfferingClass",
)
#: Linux on shared hardware with nothing sold on top, in the region itself and not in a zone far from it
_PLAIN = {
    "Tenancy": "Shared",
    "Operating System": "Linux",
    "Pre Installed S/W": "NA",
    "CapacityStatus": "Used",
    "Unit": "Hrs",
}
_YEAR = {"LeaseContractLength": "1yr", "PurchaseOption": "No Upfront", "OfferingClass": "standard"}


@dataclass(frozen=True)
class Wanted:
    """A figure of the book, the usage type it has in the list, and the units it may have there (any, if none)."""

    path: Path
    usage: str
    units: tuple[str, ...]
    unit: str
    required: bool = False
    tiered: bool = False


_GB_S = "$ per GB-second"
_LISTED_GB_S = ("Lambda-GB-Second", "Second", "seconds")
_HOURS = ("hours", "vCPU-Hours", "GB-Hours")
_TMP = ("GB-Seconds", "GB-Second", "Lambda-GB-Second")
WANTED: dict[str, tuple[Wanted, ...]] = {
    "AWSLambda": (
        Wanted(("lambda", "request"), "Request", ("Request", "Requests"), "$ per request", required=True),
        Wanted(
            ("lambda", "gb_second", "x86_64"), "Lambda-GB-Second", _LISTED_GB_S, _GB_S, required=True, tiered=True
        ),
        Wanted(("lambda", "gb_second", "arm64"), "Lambda-GB-Second-ARM", _LISTED_GB_S, _GB_S, tiered=True),
        *(
            Wanted(("lambda", name, arch), f"{usage}{ending}", _LISTED_GB_S, _GB_S)
            for name, usage in (
                ("provisioned_gb_second", "Lambda-Provisioned-Concurrency"),
                ("provisioned_running_gb_second", "Lambda-Provisioned-GB-Second"),
            )
            for arch, ending in (("x86_64", ""), ("arm64", "-ARM"))
        ),
        Wanted(("lambda", "tmp_gb_second"), "Lambda-Storage-GB-Second", _TMP, "$ per GB-second beyond 512 MB"),
        Wanted(
            ("lambda", "streamed_gb"),
            "Lambda-Streaming-Response-Processed-Bytes",
            ("Processed-Gigabytes", "GB", "Gigabytes"),
            "$ per GB beyond 6 MB of a request",
        ),
        # No record of these rows' units was found; another unit than ours would show as too great a change.
        Wanted(
            ("lambda", "snapstart_cache_gb_second"),
            "Lambda-SnapStart-Cached-GB-S",
            (),
            "$ per GB-second, three hours at least",
        ),
        Wanted(("lambda", "snapstart_restore_gb"), "Lambda-SnapStart-Restored-GB", (), "$ per GB restored"),
    ),
    # The endpoint's memory is in the name; one gigabyte's second is the GB-second.
    "AmazonSageMaker": (
        Wanted(("sagemaker_serverless", "gb_second"), "ServerlessInf:Mem-1GB", (), "$ per GB-second, 1 to 6 GB"),
    ),
    "AmazonECR": (Wanted(("ecr", "gb_month"), "TimedStorage-ByteHrs", ("GB-Mo",), "$ per GB-month"),),
    "AmazonECS": tuple(
        Wanted(("fargate", arch, name), f"Fargate-{kind}{usage}", _HOURS, unit)
        for arch, kind in (("x86_64", ""), ("arm64", "ARM-"))
        for name, usage, unit in (
            ("vcpu_hour", "vCPU-Hours:perCPU", "$ per vCPU-hour"),
            ("gb_hour", "GB-Hours", "$ per GB-hour"),
        )
    ),
    # By type of instance and terms instead, see below.
    "AmazonEC2": (),
}


def collect(prices: PriceList, kinds: set[str]) -> dict[Path, list[Row]]:
    """The rows that belong to each figure: one, or one for each tier. `kinds` are the EC2 types to look for."""
    by_usage = {one.usage: one.path for one in WANTED[prices.service]}
    found: dict[Path, list[Row]] = {}
    for row in prices.rows:
        path = _ec2_path(row, kinds) if prices.service == "AmazonEC2" else _usage_path(row, by_usage)
        if path and row.cells["Currency"] == "USD" and row.cells["Location Type"] == "AWS Region":
            found.setdefault(path, []).append(row)
    return found


def _usage_path(row: Row, by_usage: dict[str, Path]) -> Path | None:
    if row.cells["TermType"] != "OnDemand":
        return None
    usage = row.cells["usageType"]
    return by_usage.get(usage) or by_usage.get(_REGION.sub("", usage))


def _ec2_path(row: Row, kinds: set[str]) -> Path | None:
    kind = row.cells["Instance Type"]
    if kind not in kinds or not _has(row, _PLAIN):
        return None
    if row.cells["TermType"] == "OnDemand":
        return ("ec2", kind, "on_demand_hour")
    return ("ec2", kind, "reserved_year_hour") if _has(row, _YEAR) else None


def _has(row: Row, cells: dict[str, str]) -> bool:
    return all(row.cells[name] == value for name, value in cells.items())
