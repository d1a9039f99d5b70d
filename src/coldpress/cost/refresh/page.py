"""What one service's list brings into a book, and what it changes there."""

from dataclasses import dataclass, field
from typing import Any

from coldpress.cost.refresh import judge, wanted
from coldpress.cost.refresh.rows import Row
from coldpress.errors import PriceListError


@dataclass(frozen=True)
class Change:
    what: str
    old: float | None
    new: float
    unit: str

    @property
    def percent(self) -> float | None:
        return None if not self.old else (self.new / self.old - 1) * 100


@dataclass
class Refreshed:
    region: str
    place: str
    #: service → when AWS published its list
    published: dict[str, str] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    #: how many figures the lists have as the book had them
    confirmed: int = 0
    #: figures that the lists do not have
    kept: list[str] = field(default_factory=list)
    #: figures that cannot be right, and why
    refused: list[str] = field(default_factory=list)


class Page:
    """What one service's list brings into the book."""

    def __init__(
        self, content: dict[str, Any], before: dict[str, Any], outcome: Refreshed, service: str, published: str
    ) -> None:
        self._content, self._before, self._outcome = content, before, outcome
        self._service, self._published = service, published

    def fill(self, found: dict[wanted.Path, list[Row]]) -> None:
        for one in wanted.WANTED[self._service]:
            if one.path in found:
                self._take(one, found[one.path])
            elif one.required:
                raise PriceListError(
                    f"the price list of {self._service} has no {one.usage!r} any more, which every region had; "
                    "the prices stay as they were"
                )
            elif _at(self._before, one.path) is not None:
                self._outcome.kept.append(_name(one.path))
        if self._service == "AmazonEC2":
            self._servers(found)

    def _servers(self, found: dict[wanted.Path, list[Row]]) -> None:
        """Spot prices are in no list; what was not found stays."""
        for path in sorted(found):
            self._take(wanted.Wanted(path, "", (), "$ per hour"), found[path])
        old = {("ec2", kind, terms) for kind, prices in self._before["ec2"].items() for terms in prices}
        self._outcome.kept += sorted(_name(path) for path in old - set(found))

    def _take(self, one: wanted.Wanted, rows: list[Row]) -> None:
        old = _at(self._before, one.path)
        try:
            if one.tiered:
                self._take_tiers(one, rows, old or [])
                return
            value = judge.flat_price(rows, one.units, old["value"] if old else None)
        except judge.Refused as why:
            self._outcome.refused.append(f"{_name(one.path)}: {why}")
            return
        self._note(_name(one.path), old["value"] if old else None, value, one.unit)
        _put(self._content, one.path, judge.figure(value, one.unit, self._service, self._published))

    def _take_tiers(self, one: wanted.Wanted, rows: list[Row], old: list[dict[str, Any]]) -> None:
        tiers = judge.tier_prices(rows, one.units, old[0]["value"] if old else None)
        for number, (_, value) in enumerate(tiers):
            before = old[number]["value"] if number < len(old) else None
            self._note(f"{_name(one.path)} tier {number + 1}", before, value, one.unit)
        steps = [
            judge.figure(value, one.unit, self._service, self._published) | {"up_to": end} for end, value in tiers
        ]
        _put(self._content, one.path, steps)

    def _note(self, what: str, old: float | None, new: float, unit: str) -> None:
        if old == new:
            self._outcome.confirmed += 1
        else:
            self._outcome.changes.append(Change(what, old, new, unit))


def _at(content: dict[str, Any], path: wanted.Path) -> Any:
    part: Any = content
    for step in path:
        part = part.get(step)
        if part is None:
            return None
    return part


def _put(content: dict[str, Any], path: wanted.Path, value: Any) -> None:
    part = content
    for step in path[:-1]:
        part = part.setdefault(step, {})
    part[path[-1]] = value


def _name(path: wanted.Path) -> str:
    return " ".join(path).replace("_", " ").replace("x86 64", "x86_64")
