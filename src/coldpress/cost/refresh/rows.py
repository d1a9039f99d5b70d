"""AWS's price lists as CSV, row by row: the one of EC2 has 300 MB, and is never held whole."""

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from coldpress.errors import PriceListError

#: longer than any line of a list; what has no line ends must not fill the memory
LONGEST_LINE = 1 << 20
#: name and value pairs stand before the header: format, disclaimer, date, version, service
MOST_LINES_BEFORE = 20
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
#: what every list has, and we read
COLUMNS = (
    "SKU",
    "TermType",
    "StartingRange",
    "EndingRange",
    "Unit",
    "PricePerUnit",
    "Currency",
    "Location",
    "Location Type",
    "usageType",
)


@dataclass(frozen=True)
class Row:
    #: the line that it ends in, to find it again
    line: int
    cells: dict[str, str]


@dataclass(frozen=True)
class PriceList:
    service: str
    published: str
    rows: Iterator[Row]


def read_list(chunks: Iterable[bytes], service: str, also: tuple[str, ...] = ()) -> PriceList:
    """The list's date at once, its rows as they arrive. `also` are columns wanted beside those that all have."""
    cells = _Cells(_lines(chunks, service), service)
    about, header = _header(cells, service)
    missing = [name for name in (*COLUMNS, *also) if name not in header]
    if missing:
        raise PriceListError(
            f"AWS's price list of {service} has no column {', '.join(map(repr, missing))} any more; it has: "
            f"{', '.join(header[:12])}… A newer coldpress may know the new columns."
        )
    if about.get("OfferCode") != service:
        raise PriceListError(
            f"this is not the price list of {service}: its OfferCode is {about.get('OfferCode')!r}"
        )
    published = about.get("Publication Date", "")[:10]
    if not _DATE.fullmatch(published):
        raise PriceListError(f"the price list of {service} has no date, but {about.get('Publication Date')!r}")
    places = [(name, header.index(name)) for name in (*COLUMNS, *also)]
    return PriceList(service, published, _rows(cells, service, places, len(header)))


class _Cells:
    """Rows of cells, and our own error for whatever is not CSV."""

    def __init__(self, lines: Iterator[str], service: str) -> None:
        self._reader = csv.reader(lines, strict=True)
        self._service = service

    @property
    def line(self) -> int:
        return self._reader.line_num

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        try:
            return next(self._reader)
        except csv.Error as error:
            raise PriceListError(
                f"line {self.line} of the price list of {self._service} is not CSV: {error}; "
                "the download may be damaged, try again"
            ) from None


def _header(cells: _Cells, service: str) -> tuple[dict[str, str], list[str]]:
    about: dict[str, str] = {}
    for row in cells:
        if row and row[0] == "SKU":
            return about, row
        if len(row) > 1:
            about[row[0]] = row[1]
        if cells.line >= MOST_LINES_BEFORE:
            break
    raise PriceListError(
        f"what was sent as the price list of {service} is none: no line in its first {MOST_LINES_BEFORE} begins "
        "with SKU; is the address right, and no proxy answering instead?"
    )


def _rows(cells: _Cells, service: str, places: list[tuple[str, int]], width: int) -> Iterator[Row]:
    for row in cells:
        if not row:
            continue
        if len(row) != width:
            raise PriceListError(
                f"line {cells.line} of the price list of {service} has {len(row)} cells, its header {width}; "
                "the download may be cut short, try again"
            )
        yield Row(cells.line, {name: row[at] for name, at in places})


def _lines(chunks: Iterable[bytes], service: str) -> Iterator[str]:
    rest, number = b"", 0
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            number += 1
            yield _text(line, number, service)
        if len(rest) > LONGEST_LINE:
            raise PriceListError(
                f"line {number + 1} of the price list of {service} is longer than {LONGEST_LINE:,} bytes"
            )
    if rest:
        yield _text(rest, number + 1, service)


def _text(line: bytes, number: int, service: str) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8") + "\n"
    except UnicodeDecodeError as error:
        raise PriceListError(
            f"line {number} of the price list of {service} is not text: byte {error.start + 1} is "
            f"0x{error.object[error.start]:02x}"
        ) from None
