"""One HTML page without a script and without an outside host: the verdict first, then the evidence."""

from html import escape
from importlib.resources import files

from coldpress.report.gather import Evidence
from coldpress.report.sections import SECTIONS

#: nothing is fetched and nothing runs, whatever a model's name may hold
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def render(evidence: Evidence) -> str:
    style = files("coldpress.report").joinpath("style.css").read_text("utf-8")
    body = "\n".join(part for section in SECTIONS for part in section(evidence))
    title = escape(f"{evidence.name}: what it costs, how fast it starts")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<link rel="icon" href="data:,">\n'
        f"<style>\n{style}</style></head>\n<body><main>\n{body}\n</main></body></html>\n"
    )
