"""The report's charts, as Vega-Lite specifications, drawn once as SVG: a page that needs no script.

Colours are the page's own variables, so that the same drawing is right in light and in dark. Each is drawn for a
wide page and for a phone.
"""

from collections.abc import Callable
from statistics import median
from typing import Any

from coldpress.bench.result import Bench, Phase
from coldpress.cost.plan.breakeven import Curve
from coldpress.cost.plan.planner import Plan
from coldpress.report.gather import Candidate
from coldpress.words import rate_text

Spec = dict[str, Any]
#: draws a chart that is so many pixels wide
Chart = Callable[[int], Spec]
WIDE, NARROW = 640, 320
_COLOURS = [f"var(--c{number})" for number in range(1, 9)]


def waterfall(phases: list[Phase]) -> Chart:
    """Where the milliseconds of a cold start go, one after the other."""
    rows = [
        {
            "phase": phase.name,
            "start": phase.start_ms,
            "end": phase.start_ms + phase.ms,
            "label": f"{phase.ms:.1f}",
        }
        for phase in phases
    ]
    order = [row["phase"] for row in rows]

    def spec(width: int) -> Spec:
        y = {"field": "phase", "type": "nominal", "sort": order, "title": None}
        bars = {
            "mark": {"type": "bar", "color": _COLOURS[0], "cornerRadius": 2},
            "encoding": {
                "y": y,
                "x": _axis("start", "milliseconds since the process began"),
                "x2": {"field": "end"},
            },
        }
        labels = {
            "mark": {"type": "text", "align": "left", "dx": 4, "color": "var(--ink)"},
            "encoding": {"y": y, "x": {"field": "end", "type": "quantitative"}, "text": {"field": "label"}},
        }
        return _with({"data": {"values": rows}, "layer": [bars, labels]}, width - 150, 20 * len(rows))

    return spec


def sweep_times(bench: Bench) -> Chart:
    """Duration by memory size: more memory is more CPU."""
    rows = []
    for size in bench.sweep:
        if size.fits:
            rows.append({"mb": size.memory_mb, "ms": median(size.cold_ms), "what": "cold start"})
            rows += [
                {"mb": size.memory_mb, "ms": median(samples), "what": f"warm, {name}"}
                for name, samples in size.warm.items()
            ]
    return _lines(rows, "mb", "memory, MB", "ms", "milliseconds", log_y=True)


def sweep_costs(bench: Bench) -> Chart:
    """Cost by memory size, warm."""
    rows = [
        {"mb": size.memory_mb, "dollars": size.cost_per_million, "what": bench.usual}
        for size in bench.sweep
        if size.fits
    ]
    return _lines(rows, "mb", "memory, MB", "dollars", "$ per million requests", log_y=False)


def costs(curves: list[Curve]) -> Chart:
    """Dollars a month against requests a second; where one becomes cheaper than ours is marked."""
    rows = [
        {"rate": rate, "dollars": dollars, "what": curve.name}
        for curve in curves
        for rate, dollars in curve.points
    ]
    marks = []
    for curve in curves:
        if curve.wins_from is not None:
            dollars = min(curve.points, key=lambda point: abs(point[0] - (curve.wins_from or 0)))[1]
            marks.append({"rate": curve.wins_from, "dollars": dollars, "label": rate_text(curve.wins_from)})
    names = [curve.name for curve in curves]

    def spec(width: int) -> Spec:
        x, y = _log("rate", "requests a second, steady"), _log("dollars", "$ a month")
        lines = {
            "data": {"values": rows},
            "mark": {"type": "line", "strokeWidth": 2, "clip": True},
            "encoding": {"x": x, "y": y, "color": _colour(names, width)},
        }
        points = {
            "data": {"values": marks},
            "mark": {"type": "point", "filled": True, "size": 60, "color": "var(--ink)"},
            "encoding": {"x": x, "y": y},
        }
        labels = {
            "data": {"values": marks},
            "mark": {
                "type": "text",
                "align": "right",
                "dx": -7,
                "dy": -6,
                "color": "var(--ink)",
                "fontWeight": 600,
            },
            "encoding": {"x": x, "y": y, "text": {"field": "label"}},
        }
        return _with({"layer": [lines, points, labels]}, width - 70, 300)

    return spec


def plan_costs(plan: Plan) -> Chart:
    """A bar for each strategy, coloured by whether it is good enough."""
    kinds = ["meets the objective", "durations not measured", "misses the objective"]
    rows: list[dict[str, Any]] = [
        {
            "name": row.name,
            "dollars": row.dollars,
            "label": f"{row.dollars:,.2f} $",
            "kind": kinds[2] if row.misses else (kinds[1] if row.guessed else kinds[0]),
        }
        for row in plan.rows
    ]
    order = [row["name"] for row in rows]
    least, most = (pick(max(row.dollars, 0.01) for row in plan.rows) for pick in (min, max))
    for row in rows:  # a bar on a logarithmic axis must begin somewhere
        row["from"], row["dollars"] = least / 3, max(row["dollars"], 0.01)

    def spec(width: int) -> Spec:
        limit = 130 if width == NARROW else 230
        y = {"field": "name", "type": "nominal", "sort": order, "title": None, "axis": {"labelLimit": limit}}
        scale = {"scale": {"type": "log", "domain": [least / 3, most * 6], "nice": False}}
        x = _log("dollars", "$ a month") | scale
        colours = ["var(--good)", "var(--guess)", "var(--bad)"]
        bars = {
            "mark": {"type": "bar", "cornerRadius": 2},
            "encoding": {"y": y, "x": _log("from", "$ a month") | scale, "x2": {"field": "dollars"}}
            | {"color": _colour(kinds, width, colours)},
        }
        labels = {
            "mark": {"type": "text", "align": "left", "dx": 4, "color": "var(--ink)"},
            "encoding": {"y": y, "x": x, "text": {"field": "label"}},
        }
        return _with({"data": {"values": rows}, "layer": [bars, labels]}, width - limit - 20, 22 * len(rows))

    return spec


def candidates(found: list[Candidate]) -> Chart:
    """Fast and faithful: down and to the left is better."""
    rows = [
        {
            "name": one.name,
            "drift": max(one.drift, 1e-7),
            "ms": next(iter(one.warm_ms.values())),
            "kind": "taken" if one.chosen else "tried",
        }
        for one in found
        if one.drift is not None and one.warm_ms
    ]

    def spec(width: int) -> Spec:
        x, y = _axis("ms", "milliseconds, warm"), _log("drift", "drift from the original")
        points = {
            "mark": {"type": "point", "filled": True, "size": 120},
            "encoding": {
                "x": x,
                "y": y,
                "color": _colour(["taken", "tried"], width, ["var(--good)", "var(--guess)"]),
            },
        }
        labels = {
            "mark": {"type": "text", "align": "left", "dx": 9, "color": "var(--ink)"},
            "encoding": {"x": x, "y": y, "text": {"field": "name"}},
        }
        return _with({"data": {"values": rows}, "layer": [points, labels]}, width - 150, 170)

    return spec


def _lines(rows: list[dict[str, Any]], x: str, x_title: str, y: str, y_title: str, *, log_y: bool) -> Chart:
    names = list(dict.fromkeys(row["what"] for row in rows))

    def spec(width: int) -> Spec:
        encoding = {
            "x": _log(x, x_title)
            | {"axis": {"values": sorted({row[x] for row in rows}), "format": ",", "labelAngle": -45}},
            "y": _log(y, y_title) if log_y else _axis(y, y_title),
            "color": _colour(names, width),
        }
        mark = {"type": "line", "strokeWidth": 2, "point": {"size": 45}}
        return _with({"data": {"values": rows}, "mark": mark, "encoding": encoding}, width - 70, 200)

    return spec


def _axis(field: str, title: str) -> Spec:
    return {"field": field, "type": "quantitative", "title": title}


def _log(field: str, title: str) -> Spec:
    return _axis(field, title) | {"scale": {"type": "log"}, "axis": {"tickCount": 6, "format": "~g"}}


def _colour(names: list[str], width: int, colours: list[str] | None = None) -> Spec:
    return {
        "field": "kind" if colours else "what",
        "type": "nominal",
        "title": None,
        "scale": {"domain": names, "range": (colours or _COLOURS)[: len(names)]},
        "legend": {
            "orient": "bottom",
            "columns": 1 if width == NARROW else 2,
            "columnPadding": 24,
            "labelLimit": 300,
            "symbolType": "square",
            "symbolStrokeWidth": 3,
        },
    }


def _with(spec: Spec, width: int, height: int) -> Spec:
    """How all of them look."""
    ink = {"labelColor": "var(--ink)", "titleColor": "var(--soft)", "labelFontSize": 11, "titleFontSize": 11}
    return spec | {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": width,
        "height": height,
        "background": None,
        # a reader's fonts may be wider than those that the drawing was measured with
        "padding": {"left": 34, "right": 14, "top": 6, "bottom": 6},
        "config": {
            "font": "Helvetica, Arial, sans-serif",
            "view": {"stroke": None},
            "axis": ink
            | {"titleFontWeight": "normal", "gridColor": "var(--line)", "domainColor": "var(--line)"}
            | {"tickColor": "var(--line)"},
            "legend": ink,
            "text": {"fontSize": 11},
        },
    }
