"""How results look on a terminal."""

from rich.console import Console
from rich.table import Table

from coldpress.artifact import Artifact

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
