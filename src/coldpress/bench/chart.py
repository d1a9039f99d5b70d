"""A bench as one SVG that needs nothing else: the cold start's waterfall, and bars for each memory size."""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from statistics import median

from coldpress.bench.result import Bench, Size, percentile
from coldpress.bench.waterfall import PHASES
from coldpress.errors import TargetError, UsageError

_WIDTH = 960
_LEFT, _RIGHT = 300, 930
_ROW = 22
#: where each column of bars begins, and how long its longest bar is
_COLUMNS, _LONGEST = (150, 420, 690), 180

_STYLE = """
:root{--back:#fff;--ink:#1b1f24;--faint:#6b7480;--grid:#e4e7eb;--init:#3d7ebf;--first:#d97706;--best:#2e8b57}
@media (prefers-color-scheme:dark){
:root{--back:#14171b;--ink:#e8eaed;--faint:#9aa3ad;--grid:#2a3037;--init:#6cb0ef;--first:#f5a742;--best:#5fc98f}}
text{font:12px system-ui,sans-serif;fill:var(--ink)}.faint{fill:var(--faint)}.title{font-size:15px;font-weight:600}
.back{fill:var(--back)}.init{fill:var(--init)}.first{fill:var(--first)}.best{fill:var(--best)}
"""
#: phases of the first request; all others are init
_FIRST = ("request", "answer", "response")


def check_chart(path: Path) -> None:
    """Before anything is measured."""
    if path.suffix.lower() != ".svg":
        raise UsageError(f"the chart {path} must end in .svg")
    if not path.parent.is_dir():
        raise UsageError(f"{path} cannot be written: there is no folder {path.parent}")


def write_chart(bench: Bench, path: Path) -> None:
    try:
        path.write_text(draw_chart(bench), encoding="utf-8")
    except OSError as error:
        raise TargetError(f"{path} cannot be written: {error.strerror}; choose another --chart") from None


def draw_chart(bench: Bench) -> str:
    top, phases = 84, len(bench.cold.waterfall)
    rows = phases + (len(bench.sweep) + 3 if bench.sweep else 0)
    whole = top + _ROW * (rows + 0.5)
    words = f"cold start of {bench.name}: {bench.cold.of.p50:.1f} ms"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {whole:g}" width="{_WIDTH}" '
            f'height="{whole:g}" role="img" aria-label="{escape(words)}">',
            f"<style>{_STYLE}</style>",
            f'<rect class="back" width="{_WIDTH}" height="{whole:g}"/>',
            *_words(bench),
            *_waterfall(bench, top),
            *_sweep(bench, top + _ROW * (phases + 2)),
            "</svg>\n",
        ]
    )


def _words(bench: Bench) -> Iterator[str]:
    of, usual = bench.cold.of, bench.warm[bench.usual].of
    yield _text(30, 28, f"{bench.name}: {of.p50:.1f} ms from process start to first answer", "title")
    yield _text(
        30,
        48,
        f"{bench.memory_mb} MB, {len(bench.cold.ms)} fresh sandboxes, p95 {of.p95:.1f} ms; warm, {bench.usual}: "
        f"p50 {usual.p50:.2f} ms, p95 {usual.p95:.2f} ms; peak memory {bench.peak_mb:.0f} MB",
    )
    yield _text(30, 66, f"measured on {bench.machine.cpu}, not on Lambda", "faint")


def _waterfall(bench: Bench, top: float) -> Iterator[str]:
    whole = sum(phase.ms for phase in bench.cold.waterfall) or 1.0
    scale = (_RIGHT - _LEFT - 60) / whole
    for at, phase in enumerate(bench.cold.waterfall):
        y = top + at * _ROW
        yield _text(_LEFT - 12, y + 14, PHASES.get(phase.name, phase.name), "", "end")
        x, wide = _LEFT + phase.start_ms * scale, max(1.0, phase.ms * scale)
        yield _bar(x, y, wide, "first" if phase.name in _FIRST else "init")
        yield _text(x + wide + 6, y + 14, f"{phase.ms:.2f} ms", "faint")


def _sweep(bench: Bench, top: float) -> Iterator[str]:
    fit = [size for size in bench.sweep if size.fits]
    if not bench.sweep:
        return
    headings = ("cold start, ms", f"p95 of {bench.usual}, ms", "$ per million")
    for x, heading in zip(_COLUMNS, headings, strict=True):
        yield _text(x, top - 6, heading, "faint")
    longest = [max((_figures(size, bench.usual)[at] for size in fit), default=1.0) for at in range(3)]
    best = bench.recommended.get("balanced")
    for at, size in enumerate(bench.sweep):
        y = top + at * _ROW
        yield _text(_COLUMNS[0] - 12, y + 14, f"{size.memory_mb} MB", "", "end")
        if not size.fits:
            yield _text(_COLUMNS[0], y + 14, f"does not fit: {size.why}", "faint")
            continue
        for x, value, most in zip(_COLUMNS, _figures(size, bench.usual), longest, strict=True):
            wide = max(1.0, _LONGEST * value / (most or 1.0))
            yield _bar(x, y, wide, "best" if size.memory_mb == best else "init")
            yield _text(x + wide + 6, y + 14, f"{value:,.2f}" if value < 10 else f"{value:,.0f}", "faint")
    if best is not None:
        yield _text(_COLUMNS[0], top + _ROW * len(bench.sweep) + 16, f"balanced: {best} MB", "faint")


def _figures(size: Size, usual: str) -> tuple[float, float, float]:
    return median(size.cold_ms), percentile(size.warm[usual], 0.95), size.cost_per_million


def _bar(x: float, y: float, wide: float, style: str) -> str:
    return f'<rect class="{style}" x="{x:.1f}" y="{y + 3:.1f}" width="{wide:.1f}" height="{_ROW - 7}" rx="2"/>'


def _text(x: float, y: float, words: str, style: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}" text-anchor="{anchor}">{escape(words)}</text>'
