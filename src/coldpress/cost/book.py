"""The price book: what AWS asks, in one region, each figure with its source and date.

Books are shipped for some regions; `coldpress prices --refresh` writes a newer one into the cache, which is then
taken instead. A figure that was not found for a region is borrowed from another one, and says so.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from coldpress import cache
from coldpress.errors import UsageError

FORMAT = 1
SHIPPED = "shipped with coldpress"
T = TypeVar("T")


@dataclass(frozen=True)
class Price:
    """One figure, and where it is from."""

    value: float
    unit: str
    source: str
    date: str
    note: str = ""
    #: the region that it is borrowed from
    like: str = ""


@dataclass(frozen=True)
class Tier:
    """A price up to a quantity in a month; the last one has no end."""

    up_to: float | None
    price: Price


@dataclass(frozen=True)
class LambdaPrices:
    request: Price
    gb_second: dict[str, list[Tier]]
    provisioned_gb_second: dict[str, Price]
    provisioned_running_gb_second: dict[str, Price]
    tmp_gb_second: Price
    streamed_gb: Price
    snapstart_cache_gb_second: Price
    snapstart_restore_gb: Price
    free_requests: Price
    free_gb_seconds: Price
    managed_instances_fee: Price


@dataclass(frozen=True)
class Shape:
    """What an EC2 instance has."""

    vcpus: float
    memory_gb: float
    arch: str
    gpu: str = ""


class Listed(dict[str, T]):
    """Figures by name. To ask for one that is not there is an error that says which are."""

    what = "prices"

    def __missing__(self, name: str) -> T:
        known = f"there is for: {', '.join(self)}" if self else "there is for none"
        raise UsageError(f"there is no price for {name!r} among {self.what}; {known}")


@dataclass(frozen=True)
class PriceBook:
    region: str
    name: str
    lambda_: LambdaPrices
    sagemaker_gb_second: Price
    sagemaker_gb_in_out: Price
    #: type of instance → on demand, spot, reserved, by the hour
    ec2: Listed[Listed[Price]]
    #: every type in `ec2` has one
    ec2_shapes: Listed[Shape]
    #: architecture → vcpu_hour, gb_hour; empty where none was found
    fargate: Listed[Listed[Price]]
    ecr_gb_month: Price
    #: the refreshed book's file, or that it was shipped
    place: str = SHIPPED


def regions() -> list[str]:
    """Those that there is a book for, shipped or refreshed."""
    shipped = {one.name for one in files("coldpress.cost").joinpath("prices").iterdir()}
    folder = refreshed_path("x").parent
    refreshed = {one.name for one in folder.glob("[!.]*.json")} if folder.is_dir() else set()
    return sorted(name.removesuffix(".json") for name in shipped | refreshed if name.endswith(".json"))


def price_book(region: str = "us-east-1") -> PriceBook:
    if region not in regions():
        raise UsageError(
            f"there are no prices for the region {region!r}; there are for: {', '.join(regions())}. "
            f"Read AWS's own list: coldpress prices --refresh --region {region}"
        )
    path = refreshed_path(region)
    return _read(region, str(path), path.stat().st_mtime_ns if path.is_file() else 0)


@lru_cache
def _read(region: str, path: str, changed: int) -> PriceBook:
    """Once for each state of the refreshed file; `changed` is 0 when there is none."""
    try:
        return read_book(content_of(region), path if changed else SHIPPED)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise UsageError(
            f"the price book {path} cannot be read ({type(error).__name__}: {error}); delete it, or write it "
            f"anew: coldpress prices --refresh --region {region}"
        ) from None


def refreshed_path(region: str) -> Path:
    return cache.root() / "prices" / f"{region}.json"


def content_of(region: str) -> dict[str, Any]:
    """A book as it is stored: the refreshed one, or else the shipped one."""
    path = refreshed_path(region)
    if not path.is_file():
        return shipped_content(region)
    content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return content


def shipped_content(region: str) -> dict[str, Any]:
    text = files("coldpress.cost").joinpath("prices").joinpath(f"{region}.json").read_text("utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def read_book(content: dict[str, Any], place: str = SHIPPED) -> PriceBook:
    if content.get("format") != FORMAT:
        raise UsageError(f"the price book has format {content.get('format')!r}; this coldpress reads {FORMAT}")
    whole = with_borrowed(content)
    lambda_ = whole["lambda"]
    parts: dict[str, Any] = {}
    for name, value in lambda_.items():
        if "value" in value:
            parts[name] = Price(**value)
        elif name != "gb_second":
            parts[name] = {arch: Price(**price) for arch, price in value.items()}
    tiers = {
        arch: [Tier(tier.pop("up_to"), Price(**tier)) for tier in map(dict, steps)]
        for arch, steps in lambda_["gb_second"].items()
    }
    region = whole["region"]
    return PriceBook(
        region=region,
        name=whole["name"],
        lambda_=LambdaPrices(gb_second=tiers, **parts),
        sagemaker_gb_second=Price(**whole["sagemaker_serverless"]["gb_second"]),
        sagemaker_gb_in_out=Price(**whole["sagemaker_serverless"]["gb_in_out"]),
        ec2=_listed(f"EC2 types in {region}", _prices(whole["ec2"], region)),
        ec2_shapes=_listed("EC2 types", {kind: Shape(**shape) for kind, shape in whole["ec2_shapes"].items()}),
        fargate=_listed(f"Fargate's in {region}", _prices(whole["fargate"], region)),
        ecr_gb_month=Price(**whole["ecr"]["gb_month"]),
        place=place,
    )


def _listed(what: str, items: dict[str, T]) -> Listed[T]:
    listed = Listed(items)
    listed.what = what
    return listed


def _prices(content: dict[str, Any], region: str) -> dict[str, Listed[Price]]:
    return {
        kind: _listed(f"those of {kind} in {region}", {name: Price(**price) for name, price in prices.items()})
        for kind, prices in content.items()
    }


def with_borrowed(part: Any, path: tuple[Any, ...] = ()) -> Any:
    """The same content, with another region's shipped figure wherever it says `like`."""
    if isinstance(part, list):
        return [with_borrowed(one, (*path, number)) for number, one in enumerate(part)]
    if not isinstance(part, dict):
        return part
    if "like" not in part:
        return {name: with_borrowed(one, (*path, name)) for name, one in part.items()}
    found: Any = shipped_content(part["like"])
    for step in path:
        found = found[step]
    notes = [note for note in (part["note"], found.get("note")) if note]
    return found | {"like": part["like"], "note": "; ".join(notes)}
