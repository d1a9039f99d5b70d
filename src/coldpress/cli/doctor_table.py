"""How the doctor's findings look on a terminal: words first, colours for those who see them."""

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from coldpress.doctor.finding import LEVELS, Finding


def findings_page(findings: list[Finding], show_all: bool = False) -> RenderableType:
    """The worst first, each with its fix; one line where there is nothing to do."""
    verdict = _verdict(findings)
    if all(one.level == "green" for one in findings) and not show_all:
        return verdict
    # Texts, not markup: what was found may hold brackets, as pip install 'coldpress[aws]' does.
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in ("", "check", "what was found, and the fix"):
        table.add_column(heading, overflow="fold")
    for level in LEVELS:
        for one in findings:
            if one.level == level:
                table.add_row(Text(level, style=f"bold {level}"), Text(one.name), _told(one))
    return Group(table, verdict)


def _told(one: Finding) -> Text:
    text = Text(one.what, style="dim" if one.level == "green" else "")
    if one.why:
        text.append(f"\nwhy: {one.why}", style="dim")
    if one.fix:
        text.append("\nfix: ", style="bold")
        text.append(one.fix)
    return text


def _verdict(findings: list[Finding]) -> Text:
    numbers = {level: sum(one.level == level for one in findings) for level in LEVELS}
    if numbers["green"] == len(findings):
        return Text(f"{len(findings)} checks, nothing to do", style="green")
    counted = [f"{number} {level}" for level, number in numbers.items() if number]
    return Text(f"{len(findings)} checks: {', '.join(counted)}", style="red" if numbers["red"] else "yellow")
