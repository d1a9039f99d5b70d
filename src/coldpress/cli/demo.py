"""coldpress demo"""

import re
from pathlib import Path

import click


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("out/demo"), show_default=True)
@click.option("--picture", type=click.Path(path_type=Path), help="Also save the table as an SVG file.")
def demo(out: Path, picture: Path | None) -> None:
    """Press a real MiniLM, verify it, start it as Lambda would, and show what came of it."""
    from rich.console import Console

    from coldpress.cli.show import demo_table, stderr
    from coldpress.demo import run_demo
    from coldpress.progress import Shown

    result = run_demo(out, Shown(stderr()))
    vector = ", ".join(f"{value:.4f}" for value in result.served.answer["embeddings"][0][:4])
    console = Console(width=96, record=picture is not None)
    console.print(
        f'\n{{"text": "hello, world"}} → {{"embeddings": [[{vector}, …]]}}\n', highlight=False, markup=False
    )
    console.print(demo_table(result))
    if picture:
        svg = console.export_svg(title="coldpress demo")
        # No fonts from elsewhere: a picture must not call anybody when it is looked at.
        picture.write_text(re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL), encoding="utf-8")
    stderr().print(f"next: coldpress serve {out}, and a page to try it on", highlight=False, markup=False)
