"""From rows to a figure, unless it cannot be right."""

from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

from coldpress.cost.refresh.rows import Row

#: no price moves this far from one list to the next; a unit that changed does
MOST_CHANGE = 10


class Refused(Exception):
    """Why a figure is not taken; the old one stays."""


@dataclass(frozen=True)
class Step:
    start: float
    end: float
    price: float
    row: Row


def flat_price(rows: list[Row], units: tuple[str, ...], old: float | None) -> float:
    """One price for any quantity; what is free at first is left out."""
    steps = _paid(rows, units)
    if len({step.price for step in steps}) > 1:
        seen = ", ".join(f"{step.row.cells['PricePerUnit']} in line {step.row.line}" for step in steps)
        raise Refused(f"the list has more than one price: {seen}")
    _check_change(steps[0], old)
    return steps[0].price


def tier_prices(rows: list[Row], units: tuple[str, ...], old: float | None) -> list[tuple[float | None, float]]:
    """End and price of each tier, the last without an end."""
    steps = sorted(_paid(rows, units), key=lambda step: step.start)
    at = 0.0
    for step in steps:
        if step.start != at or step.end <= step.start:
            raise Refused(
                f"the tiers do not join: line {step.row.line} goes from {step.start:g} to {step.end:g}, and "
                f"should begin at {at:g}"
            )
        at = step.end
        _check_change(step, old)
    if at != inf:
        raise Refused(f"the last tier ends at {at:g}; it should have no end")
    return [(None if step.end == inf else step.end, step.price) for step in steps]


def _paid(rows: list[Row], units: tuple[str, ...]) -> list[Step]:
    steps = [_step(row, units) for row in rows]
    paid = [step for step in steps if step.price > 0]
    free_for_ever = [step for step in steps if step.price == 0 and step.end == inf]
    if free_for_ever or not paid:
        step = (free_for_ever or steps)[0]
        raise Refused(f"its price is {step.row.cells['PricePerUnit']} in line {step.row.line}, and it is not free")
    return paid


def _step(row: Row, units: tuple[str, ...]) -> Step:
    cells = row.cells
    if units and cells["Unit"] not in units:
        raise Refused(f"its unit is {cells['Unit']!r} in line {row.line}, not {' or '.join(units)}")
    price = _number(cells["PricePerUnit"], row)
    # prices of one quantity have no range where they are paid once, or by reservation
    start = _number(cells["StartingRange"] or "0", row)
    end = inf if cells["EndingRange"] in {"", "Inf"} else _number(cells["EndingRange"], row)
    return Step(start, end, price, row)


def _number(text: str, row: Row) -> float:
    try:
        value = float(text)
    except ValueError:
        raise Refused(f"{text[:40]!r} in line {row.line} is no number") from None
    if not isfinite(value) or value < 0:
        raise Refused(f"{text[:40]!r} in line {row.line} is no price or quantity")
    return value


def _check_change(step: Step, old: float | None) -> None:
    if old is not None and not old / MOST_CHANGE <= step.price <= old * MOST_CHANGE:
        raise Refused(
            f"{step.row.cells['PricePerUnit']} in line {step.row.line} is more than {MOST_CHANGE} times off the "
            f"{old:.10f} of before"
        )


def figure(value: float, unit: str, service: str, published: str) -> dict[str, Any]:
    """As a book stores it."""
    return {"value": value, "unit": unit, "source": f"AWS bulk price list, {service}", "date": published}
