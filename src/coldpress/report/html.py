"""Pieces of HTML: everything from outside is escaped here."""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.util import find_spec

from coldpress.errors import MissingExtra
from coldpress.report.charts import NARROW, WIDE, Chart


def check_drawing() -> None:
    """Before anything is measured: what cannot be drawn later is said now."""
    if find_spec("vl_convert") is None:
        raise MissingExtra("report", "vl-convert-python", "drawing the report")


def draw(chart: Chart, caption: str) -> str:
    """A chart for a wide page and one for a phone; the page shows the one that fits."""
    import vl_convert

    drawn = []
    for width, name in ((WIDE, "wide"), (NARROW, "narrow")):
        svg = vl_convert.vegalite_to_svg(chart(width))
        opening = f'class="{name}" role="img" aria-label="{escape(caption)}"'
        drawn.append(svg.replace('class="marks"', opening, 1))
    return f"<figure><figcaption>{escape(caption)}</figcaption>{''.join(drawn)}</figure>"


def table(head: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]], *, notes: bool = False) -> str:
    """Rows are (class, cells); with notes the last column is prose."""
    titles = [f"<th>{escape(cell)}</th>" for cell in head]
    if notes:
        titles[-1] = f'<th class="note">{escape(head[-1])}</th>'
    found = [f"<thead><tr>{''.join(titles)}</tr></thead>"]
    for kind, cells in rows:
        made = [f"<td>{escape(cell)}</td>" for cell in cells]
        if notes:
            made[-1] = f'<td class="note">{escape(cells[-1])}</td>'
        found.append(f'<tr class="{kind}">' + "".join(made) + "</tr>")
    return f'<div class="scroll"><table>{"".join(found)}</table></div>'


def paragraph(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{escape(text)}</p>'


def title(text: str) -> str:
    return f"<h1>{escape(text)}</h1>"


def heading(text: str) -> str:
    return f"<h2>{escape(text)}</h2>"


def folded(summary: str, content: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def cards(facts: Iterable[tuple[str, str]]) -> str:
    made = "".join(
        f'<div class="card"><b>{escape(value)}</b><span>{escape(what)}</span></div>' for value, what in facts
    )
    return f'<div class="cards">{made}</div>'


def items(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"
