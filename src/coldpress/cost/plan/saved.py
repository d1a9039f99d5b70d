"""A plan as JSON, and beside the artifact it was made for."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from coldpress.cost.book import PriceBook
from coldpress.cost.plan.breakeven import Curve
from coldpress.cost.plan.options import Options
from coldpress.cost.plan.planner import Plan
from coldpress.errors import TargetError

PLAN = "plan.json"
FORMAT = 1


def as_json(plan: Plan, crossings: list[Curve], options: Options, book: PriceBook) -> dict[str, Any]:
    best = plan.best
    rows = [
        {
            "name": row.name,
            "per_month": row.dollars,
            "per_million": row.per_million,
            "cold_share": row.outcome.cold_share,
            "misses": list(row.misses),
            "assumes": row.assumes,
            "guessed": row.guessed,
            **asdict(row.outcome),
            "bill": [asdict(line) for line in row.bill.lines],
        }
        for row in plan.rows
    ]
    return {
        "format": FORMAT,
        "traffic": plan.traffic,
        "survey": asdict(plan.survey),
        "slo": plan.slo,
        "best": best.name if best else None,
        "rows": rows,
        "curves": [asdict(curve) for curve in crossings],
        "durations": plan.source,
        "assumed": asdict(options),
        "region": book.region,
    }


def save(folder: Path, plan: Plan, crossings: list[Curve], options: Options, book: PriceBook) -> None:
    """Whole or not at all."""
    path, partial = folder / PLAN, folder / f".{PLAN}.{os.getpid()}.partial"
    try:
        partial.write_text(json.dumps(as_json(plan, crossings, options, book), indent=1) + "\n", encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise TargetError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)
