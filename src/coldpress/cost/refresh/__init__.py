"""Refresh: today's prices, from AWS's public list, into the user's own book.

Either all lists were read to their end and a new book is written, or the old one stays. A figure that cannot be
right is refused by itself: the old one stays in the new book, with its old source and date.
"""

import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from coldpress.cost import book
from coldpress.cost.refresh import wanted
from coldpress.cost.refresh.download import AWS, Told, download
from coldpress.cost.refresh.page import Change as Change
from coldpress.cost.refresh.page import Page, Refreshed
from coldpress.cost.refresh.rows import read_list
from coldpress.errors import PriceListError, UsageError

_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d")
_BORROWED = "us-east-1's figure: AWS's list of this region was not seen to have one"


def refresh(region: str, host: str = AWS, told: Told = lambda service, done, total: None) -> Refreshed:
    if not _REGION.fullmatch(region):
        raise UsageError(f"{region!r} is no AWS region's name; one looks like eu-central-1")
    content = _base(region)
    before = book.with_borrowed(content)
    path = book.refreshed_path(region)
    outcome = Refreshed(region, str(path))
    shapes = book.shipped_content("us-east-1")["ec2_shapes"] | content["ec2_shapes"]
    for service in wanted.WANTED:
        also = wanted.EC2_COLUMNS if service == "AmazonEC2" else ()
        with download(host, service, region, told) as chunks:
            prices = read_list(chunks, service, also)
            found = wanted.collect(prices, set(shapes))
        outcome.published[service] = prices.published
        if content["name"] == region:
            content["name"] = next((rows[0].cells["Location"] for rows in found.values()), region)
        Page(content, before, outcome, service, prices.published).fill(found)
    content["ec2_shapes"] = {kind: shape for kind, shape in shapes.items() if kind in content["ec2"]}
    book.read_book(content)
    _write(path, content)
    return outcome


def _base(region: str) -> dict[str, Any]:
    """What the lists are read into: the book in use, or for a region without one, one that is all borrowed."""
    for stored in (book.content_of, book.shipped_content):
        try:
            content = stored(region)
            book.read_book(content)
        except (ValueError, LookupError, TypeError, AttributeError, UsageError, FileNotFoundError):
            continue  # a refreshed book that cannot be read is what a refresh repairs
        return content
    borrowed: dict[str, Any] = _all_borrowed(book.shipped_content("us-east-1"))
    return borrowed | {"region": region, "name": region, "ec2": {}, "ec2_shapes": {}, "fargate": {}}


def _all_borrowed(part: Any) -> Any:
    if isinstance(part, list):
        return [_all_borrowed(one) for one in part]
    if not isinstance(part, dict):
        return part
    if "value" in part:
        return {"like": "us-east-1", "note": _BORROWED}
    return {name: _all_borrowed(one) for name, one in part.items()}


def _write(path: Path, content: dict[str, Any]) -> None:
    """Beside its place, then moved there whole."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        made, partial = tempfile.mkstemp(prefix=".partial-", dir=path.parent)
        try:
            with os.fdopen(made, "w", encoding="utf-8") as file:
                json.dump(content, file, indent=1)
            Path(partial).replace(path)
        finally:
            Path(partial).unlink(missing_ok=True)
    except OSError as error:
        raise PriceListError(f"the new prices cannot be written to {path}: {error.strerror}") from None
