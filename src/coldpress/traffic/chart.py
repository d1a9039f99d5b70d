"""Every request as a dot, over time, in one SVG that needs nothing else: no script, no font, no other host."""

import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from coldpress.errors import UsageError
from coldpress.traffic import Traffic
from coldpress.traffic.answer import Start
from coldpress.traffic.rows import Kind, Rows
from coldpress.traffic.summary import percentile

SUFFIXES = (".svg", ".html")

_WIDTH, _HEIGHT = 960, 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 940, 92, 436
#: dots closer than this many pixels are drawn once, which bounds the file however many requests there were
_GRID = 1.5
#: the lines of percentiles have a point for each of so many stretches of time
_SLICES = 60

_STYLE = """
:root{--back:#fff;--ink:#1b1f24;--faint:#6b7480;--grid:#e4e7eb;--dot:#3d7ebf;--cold:#d97706;--error:#cc2936}
@media (prefers-color-scheme:dark){
:root{--back:#14171b;--ink:#e8eaed;--faint:#9aa3ad;--grid:#2a3037;--dot:#6cb0ef;--cold:#f5a742;--error:#ff6b6b}}
text{font:12px system-ui,sans-serif;fill:var(--ink)}.faint{fill:var(--faint)}.title{font-size:15px;font-weight:600}
path{fill:none;stroke-linecap:round}.grid{stroke:var(--grid)}.back{fill:var(--back)}
.dot{stroke:var(--dot);stroke-width:3;opacity:.55}.cold{stroke:var(--cold);stroke-width:6}
.error{stroke:var(--error);stroke-width:1.6}
.p50{stroke:var(--ink);stroke-width:1.4}.p99{stroke:var(--ink);stroke-width:1.4;stroke-dasharray:5 4}
"""
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width"><title>{title}</title>
<style>body{{margin:0;background:#fff}}svg{{display:block;max-width:100%;height:auto;margin:auto}}
@media (prefers-color-scheme:dark){{body{{background:#14171b}}}}</style>
{svg}</html>
"""


@dataclass(frozen=True)
class _Scale:
    """From seconds and milliseconds to pixels. Latency is logarithmic: 2 ms and 2 s matter alike."""

    seconds: float
    low: float
    high: float

    def x(self, at: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * at / self.seconds

    def y(self, latency_ms: float) -> float:
        span = math.log(self.high / self.low)
        return _BOTTOM - (_BOTTOM - _TOP) * math.log(max(latency_ms, self.low) / self.low) / span


def check_path(path: Path) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"the chart {path} must end in {' or '.join(SUFFIXES)}")


def write(traffic: Traffic, path: Path) -> None:
    svg = draw(traffic)
    page = path.suffix.lower() == ".html"
    path.write_text(_PAGE.format(title=escape(traffic.url), svg=svg) if page else svg, "utf-8")


def draw(traffic: Traffic) -> str:
    rows = traffic.rows
    seconds = max(rows.at, default=0.0) or 1.0
    low = _round_down(max(0.01, min(rows.latency_ms, default=1.0)))
    high = _round_up(max(low * 1.01, max(rows.latency_ms, default=10.0)))
    scale = _Scale(seconds, low, high)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" role="img" aria-label="Latency of every request over time">',
        f"<style>{_STYLE}</style>",
        f'<rect class="back" width="{_WIDTH}" height="{_HEIGHT}"/>',
        *_words(traffic),
        *_axes(scale),
        *_dots(rows, scale),
        *_lines(rows, scale),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _words(traffic: Traffic) -> Iterator[str]:
    summary, found = traffic.summary, traffic.summary.latency_ms
    cold = "cold starts not told" if summary.cold is None else f"{summary.cold.count:,} cold starts"
    url = traffic.url if len(traffic.url) <= 100 else traffic.url[:99] + "…"
    yield _text(_LEFT, 24, url, "title")
    yield _text(
        _LEFT,
        44,
        f"{traffic.plan}: {summary.scheduled:,} requests, {summary.achieved_rate:,.1f} answered well a second, "
        f"{summary.failed:,} errors, {cold}",
    )
    if found is not None:
        figures = {"p50": found.p50, "p90": found.p90, "p95": found.p95, "p99": found.p99, "p99.9": found.p999}
        said = ", ".join(f"{name} {_short(value)}" for name, value in {**figures, "max": found.max}.items())
        yield _text(_LEFT, 64, f"ms from the scheduled time: {said}")
    marks = (("dot", "M0 0h0", "request"), ("cold", "M0 0h0", "cold start"), ("error", _cross(0, 0), "error"))
    lines = (("p50", "M-14 0h20", "p50"), ("p99", "M-14 0h20", "p99"))
    for at, (style, path, name) in enumerate((*marks, *lines)):
        x = _LEFT + 16 + 110 * at
        yield f'<path class="{style}" transform="translate({x} {_HEIGHT - 11})" d="{path}"/>'
        yield _text(x + 12, _HEIGHT - 7, name, "faint")


def _axes(scale: _Scale) -> Iterator[str]:
    tick = scale.low
    while tick <= scale.high * 1.001:
        y = scale.y(tick)
        yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{_RIGHT}"/>'
        yield _text(_LEFT - 8, y + 4, f"{tick:g} ms", "faint", "end")
        tick = _round_up(tick * 1.01)
    step = _round_up(scale.seconds / 8)
    for number in range(int(scale.seconds / step) + 1):
        yield _text(scale.x(number * step), _BOTTOM + 18, f"{number * step:g} s", "faint", "middle")


def _dots(rows: Rows, scale: _Scale) -> Iterator[str]:
    """Usual ones first, so that what matters lies on top of them."""
    cells: dict[str, set[tuple[int, int]]] = {"dot": set(), "cold": set(), "error": set()}
    for at, latency, kind, start in zip(rows.at, rows.latency_ms, rows.kind, rows.start, strict=True):
        style = "error" if kind != Kind.GOOD else "cold" if start == Start.COLD else "dot"
        cells[style].add((round(scale.x(at) / _GRID), round(scale.y(latency) / _GRID)))
    for style, places in cells.items():
        points = ((x * _GRID, y * _GRID) for x, y in sorted(places))
        path = "".join(_cross(x, y) if style == "error" else f"M{x:g} {y:g}h0" for x, y in points)
        yield f'<path class="{style}" d="{path}"/>'


def _lines(rows: Rows, scale: _Scale) -> Iterator[str]:
    slices = [array("d") for _ in range(_SLICES)]
    for row in rows.timed():
        slices[min(_SLICES - 1, int(_SLICES * rows.at[row] / scale.seconds))].append(rows.latency_ms[row])
    ordered = [sorted(one) for one in slices]
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        found = [(at, percentile(values, share)) for at, values in enumerate(ordered)]
        points = [
            f"{scale.x((at + 0.5) * scale.seconds / _SLICES):.1f} {scale.y(value):.1f}"
            for at, value in found
            if value is not None
        ]
        if points:
            yield f'<path class="{name}" d="M{"L".join(points)}"/>'


def _text(x: float, y: float, words: str, style: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}" text-anchor="{anchor}">{escape(words)}</text>'


def _cross(x: float, y: float) -> str:
    return f"M{x - 3:g} {y - 3:g}l6 6m0-6l-6 6"


def _short(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50 …, as people count."""
    power = 10 ** math.floor(math.log10(value))
    return float(f"{next(power * step for step in (1, 2, 5, 10) if power * step >= value * 0.999999):.6g}")


def _round_down(value: float) -> float:
    power = 10 ** math.floor(math.log10(value))
    return float(f"{next(power * step for step in (5, 2, 1) if power * step <= value * 1.000001):.6g}")
