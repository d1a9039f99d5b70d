"""How results look on a terminal."""

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from coldpress.artifact import Artifact, folder_bytes
from coldpress.demo import Demo
from coldpress.package.pack import DIRECT_ZIP, UNZIPPED

if TYPE_CHECKING:
    from coldpress.package.weigh import Limit, Weight
    from coldpress.verify.recheck import Check

#: of the parts of a function
COLOURS = {"engine": ("cyan", "▒"), "runtime": ("magenta", "▓"), "model": ("green", "█")}
#: what tells recipes of one engine and precision apart
SHOWN_REWRITES = ("layout",)


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
        packed = folder_bytes(artifact.model_folder(name))
        drift = model["drift"]
        if artifact.is_many:
            table.add_row(f"{name}, drift {drift['total']:.3f}", "", megabytes(packed), "")
            continue
        table.add_row("model", megabytes(sizes["source_weights"]), megabytes(packed), "")
        table.add_row("precision", "fp32", model["recipe"]["precision"], "")
        table.add_row(f"drift ({drift['samples']} samples)", "0", f"{drift['total']:.3f}", f"{drift['limit']:g}")
    table.add_row("function, unzipped", "", megabytes(sizes["function"]), megabytes(UNZIPPED))
    if sizes["zip"]:
        table.add_row("function.zip", "", megabytes(sizes["zip"]), megabytes(DIRECT_ZIP))
    return table


def weights_table(name: str, weights: "list[Weight]") -> Table:
    """What is in the function; all that is light in one row."""
    table = Table(title=f"{name}: what weighs what", title_justify="left")
    for heading in ("part", "file"):
        table.add_column(heading)
    for heading in ("unpacked", "compressed", "share"):
        table.add_column(heading, justify="right")
    whole = sum(one.bytes for one in weights)
    heavy = [one for one in weights if one.bytes >= whole / 500]
    for one in heavy:
        cells = (one.part, one.name, megabytes(one.bytes), megabytes(one.packed))
        table.add_row(*cells, f"{100 * one.bytes / whole:.1f} %", style=COLOURS[one.part][0])
    light = [one for one in weights if one not in heavy]
    if light:
        sizes = (sum(one.bytes for one in light), sum(one.packed for one in light))
        table.add_row("", f"{len(light)} more", *map(megabytes, sizes), "")
    table.add_section()
    table.add_row("", "all", megabytes(whole), megabytes(sum(one.packed for one in weights)), "")
    return table


def weights_bar(weights: "list[Weight]", width: int) -> Text:
    """The same as one bar: a stretch for each part, as wide as it is heavy, and what stands for what."""
    whole, bar, legend = sum(one.bytes for one in weights), Text(), Text()
    for part, (colour, mark) in COLOURS.items():
        size = sum(one.bytes for one in weights if one.part == part)
        bar.append(mark * max(1, round(size / whole * (width - 4))), style=colour)
        legend.append(f"{mark} {part} {megabytes(size)}   ", style=colour)
    return Text("\n").join([bar, legend])


def limits_table(limits: "list[Limit]") -> Table:
    table = Table(title="against Lambda's limits", title_justify="left")
    table.add_column("")
    for heading in ("size", "limit", "of it"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for one in limits:
        says = "" if one.kept else "through S3 only" if one.what.endswith(".zip") else "as an image only"
        share = f"{100 * one.bytes / one.most:.1f} %"
        style = None if one.kept else "yellow"
        table.add_row(one.what, megabytes(one.bytes), megabytes(one.most), share, says, style=style)
    return table


def requirements_table(artifact: Artifact) -> Table:
    """What custom code requires, against the room that a function has."""
    wheels = artifact.manifest["custom"]["requirements"]
    table = Table(title="requirements, unpacked", title_justify="left")
    table.add_column("wheel")
    for heading in ("size", "of the limit"):
        table.add_column(heading, justify="right")
    total = {"name": "all", "version": "", "bytes": sum(wheel["bytes"] for wheel in wheels)}
    for wheel in [*wheels, total]:
        share = f"{100 * wheel['bytes'] / UNZIPPED:.1f} %"
        table.add_row(f"{wheel['name']} {wheel['version']}".strip(), megabytes(wheel["bytes"]), share)
    return table


def candidates_table(artifact: Artifact) -> Table:
    """Everything that was tried, the chosen one first, and what came of it."""
    measured = artifact.measured()
    candidates = measured["candidates"]
    shapes = next((list(one["timing"]["warm_ms"]) for one in candidates if one["timing"]), [])
    table = Table(
        title="candidates", caption=f"ms, medians on {measured['cpu']}; warm with one thread", title_justify="left"
    )
    table.add_column("recipe")
    table.add_column("drift", justify="right")
    table.add_column("model", justify="right")
    for heading in [*shapes, "cold"] if shapes else []:
        table.add_column(heading, justify="right")
    table.add_column("")
    for at, one in enumerate(candidates):
        verdict, timing = one["verdict"], one["timing"]
        figures = [f"{timing['warm_ms'][shape]:.1f}" for shape in shapes] if timing else [""] * len(shapes)
        if shapes:
            figures.append(f"{timing['cold_ms']:.0f}" if timing else "")
        table.add_row(
            recipe_name(one["recipe"]),
            f"{verdict['drift']['total']:.4f}" if verdict else "",
            megabytes(one["model_bytes"]) if one["model_bytes"] else "",
            *figures,
            "chosen" if at == 0 else _why_not(one),
            style="bold green" if at == 0 else None,
        )
    return table


def recipe_name(recipe: dict[str, Any]) -> str:
    parts = [recipe["engine"], recipe["precision"]]
    if recipe["keep"]:
        parts.append(f"but {len(recipe['keep'])} layers")
    return " ".join([*parts, *(step for step in recipe["rewrites"] if step in SHOWN_REWRITES)])


def _why_not(candidate: dict[str, Any]) -> str:
    if candidate["refused"]:
        return str(candidate["refused"])[:60]
    verdict = candidate["verdict"]
    if not verdict["drift"]["total"] <= verdict["limit"]:
        return f"over {verdict['limit']:g}"
    return "slower" if candidate["timing"] else "too large"


def checks_table(checks: "list[Check]") -> Table:
    table = Table("check", "", title_justify="left")
    table.add_column("value", justify="right")
    table.add_column("limit", justify="right")
    for check in checks:
        word = "the same bits" if check.identical else "" if check.value is None else f"{check.value:.6g}"
        table.add_row(
            check.what,
            "ok" if check.passed else "FAILED",
            word,
            "" if check.limit is None else f"{check.limit:g}",
            style=None if check.passed else "bold red",
        )
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
