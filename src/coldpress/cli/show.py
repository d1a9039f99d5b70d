"""How results look on a terminal."""

from rich.console import Console
from rich.table import Table

from coldpress.artifact import Artifact
from coldpress.demo import Demo

ZIP_LIMIT = 50e6
UNZIPPED_LIMIT = 250e6


def stderr() -> Console:
    return Console(stderr=True)


def megabytes(size: float) -> str:
    return f"{size / 1e6:.1f} MB"


def artifact_table(artifact: Artifact) -> Table:
    """Sizes before and after, precision, drift."""
    sizes = artifact.manifest["sizes"]
    table = Table(title=f"{artifact.name}, pressed", title_justify="left")
    table.add_column()
    table.add_column("before", justify="right")
    table.add_column("after", justify="right")
    table.add_column("limit", justify="right")
    for name, model in artifact.manifest["models"].items():
        weights = artifact.function_folder / "models" / name
        packed = sum(path.stat().st_size for path in weights.iterdir())
        drift = model["drift"]
        table.add_row("model", megabytes(sizes["source_weights"]), megabytes(packed), "")
        table.add_row("precision", "fp32", model["recipe"]["precision"], "")
        table.add_row(f"drift ({drift['samples']} samples)", "0", f"{drift['total']:.3f}", f"{drift['limit']:g}")
    table.add_row("function, unzipped", "", megabytes(sizes["function"]), megabytes(UNZIPPED_LIMIT))
    if sizes["zip"]:
        table.add_row("function.zip", "", megabytes(sizes["zip"]), megabytes(ZIP_LIMIT))
    return table


def demo_table(demo: Demo) -> Table:
    """What was pressed, beside the PyTorch handler that people deploy today."""
    sizes, figures, classic = demo.artifact.manifest["sizes"], demo.figures, demo.classic
    (model,) = demo.artifact.manifest["models"].values()
    table = Table(
        title="all-MiniLM-L6-v2, pressed",
        caption=f"Local figures, one core, medians. PyTorch: {classic['what']}, measured on {classic['cpu']}.",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column()
    table.add_column("coldpress", justify="right", style="bold green")
    table.add_column("PyTorch handler", justify="right")
    table.add_column("", justify="right")
    table.add_column("Lambda's limit", justify="right", style="dim")

    def row(name: str, ours: float, theirs: float, form: str, limit: str = "") -> None:
        times = theirs / ours
        factor = f"{times:,.0f} ×" if times >= 10 else f"{times:.1f} ×"
        table.add_row(name, form.format(ours), form.format(theirs), factor, limit)

    row("zip", sizes["zip"] / 1e6, classic["zip_mb"], "{:,.1f} MB", "50 MB")
    row("unzipped", sizes["function"] / 1e6, classic["unzipped_mb"], "{:,.1f} MB", "250 MB")
    row("cold start", figures.cold_ms, classic["cold_ms"], "{:,.0f} ms")
    row("warm request", figures.warm_ms, classic["warm_ms"], "{:,.1f} ms")
    row("peak memory", figures.peak_mb, classic["peak_mb"], "{:,.0f} MB")
    row("cost per million", demo.cost_per_million, classic["cost_per_million"], "${:,.2f}")
    table.add_row("drift", f"{model['drift']['total']:.3f}", "0", "", f"{model['drift']['limit']:g} is ours")
    return table
