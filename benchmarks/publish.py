"""Carry measured figures to where people read them: README.md, and the demo's comparison.

Nothing here measures. Every number comes from benchmarks/results/, and a test fails when README.md
and the results disagree.
"""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULT = ROOT / "benchmarks" / "results" / "cold_start.json"
WARM = ROOT / "benchmarks" / "results" / "warm.json"
EMULATOR = ROOT / "benchmarks" / "results" / "emulator.json"
REPORT = ROOT / "benchmarks" / "results" / "report.json"
SIMULATOR = ROOT / "benchmarks" / "results" / "simulator.json"
VISION = ROOT / "benchmarks" / "results" / "vision.json"
README = ROOT / "README.md"
CLASSIC = ROOT / "src" / "coldpress" / "classic.json"

ROWS = {
    "classic": "torch + transformers fp16, awslambdaric",
    "expert": "onnxruntime + tokenizers int8, awslambdaric",
    "ours_handler": "**coldpress**, `handler.py` under awslambdaric",
    "ours": "**coldpress**, `bootstrap`",
}


def main() -> None:
    result = json.loads(RESULT.read_text())
    README.write_text(published(README.read_text()))
    CLASSIC.write_text(json.dumps(classic(result), indent=1) + "\n")


def published(text: str) -> str:
    """`text` with the block between the markers written anew."""
    sources = {
        figures: RESULT,
        warm_figures: WARM,
        vision_figures: VISION,
        emulator_figures: EMULATOR,
        cost_figures: REPORT,
        simulator_figures: SIMULATOR,
    }
    parts = (write(json.loads(path.read_text())) for write, path in sources.items())
    block = "\n".join(("<!-- figures -->", "\n\n".join(parts), "<!-- /figures -->"))
    return re.sub(r"<!-- figures -->.*?<!-- /figures -->", lambda _: block, text, flags=re.DOTALL)


def figures(result: dict[str, Any]) -> str:
    lines = [
        "| all-MiniLM-L6-v2 as a function | cold start | two cores | warm | peak memory | zip | unzipped |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for key, what in ROWS.items():
        warm, size = result["warm"][key], result["sizes_mb"][key]
        lines.append(
            f"| {what} | {result['one_core'][f'rie_{key}']['median_ms']:,.0f} ms "
            f"| {result['two_cores'][f'rie_{key}']['median_ms']:,.0f} ms | {warm['duration_ms']:.1f} ms "
            f"| {warm['peak_mb']:,.0f} MB | {size['zip']:,.0f} MB | {size['unzipped']:,.0f} MB |"
        )
    ratios, evicted, alone = result["ratios"], result["evicted"], result["one_core"]
    lines += [
        "",
        "Process start to first answer under AWS's Runtime Interface Emulator, everything pinned to one core "
        f"(1,769 MB buy one vCPU), medians of {result['rounds']} alternating rounds on "
        f"{result['machine']['cpu']}, Python {result['machine']['python']}: "
        f"**{ratios['rie_classic_over_ours']:.0f} ×** sooner than the PyTorch handler, "
        f"**{ratios['rie_expert_over_ours']:.1f} ×** sooner than the expert's. "
        f"Against a bare Runtime API the first answer takes {alone['bare_ours']['median_ms']:.0f} ms, "
        f"{ratios['bare_ours_over_python_pass']:.1f} × an interpreter that does nothing "
        f"({alone['python_pass']['median_ms']:.1f} ms); {evicted['bare_ours_ms']:.0f} ms with the function's "
        "files thrown out of the page cache, of whose "
        f"{evicted['chunks_512k_total']} chunks of 512 KiB it touches {evicted['chunks_512k_touched']:.0f}. "
        "These are local figures; Lambda adds the time to fetch the function.",
        "",
        "Where a cold start goes: "
        + ", ".join(f"{name} {took:.1f}" for name, took in result["waterfall_ms"].items())
        + " ms.",
    ]
    return "\n".join(lines)


def warm_figures(warm: dict[str, Any]) -> str:
    shapes = list(warm["tokens_ms"])
    lines = [
        "| warm, one thread, ms at (texts, tokens) | " + " | ".join(shapes) + " |",
        "|---|" + "---:|" * len(shapes),
    ]
    for name in warm["tokens_ms"][shapes[0]]:
        shown = f"**{name}**" if name.startswith("coldpress") else name
        lines.append(
            f"| {shown} | " + " | ".join(f"{warm['tokens_ms'][shape][name]:,.1f}" for shape in shapes) + " |"
        )
    best = ", ".join(f"{value:.2f}" for value in warm["tokens_press_over_best_peer"].values())
    text = ", ".join(f"{value:.2f}" for value in warm["text_press_over_best_peer"].values())
    speedup = ", ".join(f"{value:.2f}" for value in warm["two_threads_speedup"].values())
    lines += [
        "",
        f"Press takes {best} × the time of the best peer at these shapes; text in, JSON out {text} × "
        f"(the last one: 64 mixed texts). Two threads are {speedup} × as fast as one at the two larger shapes. "
        f"Measured on {warm['machine']['cpu']}, medians of {warm['rounds']} alternating rounds.",
    ]
    if warm.get("floor"):
        lines += ["", floor_figures(warm["floor"])]
    lines += ["", graph_figures(warm["onnxruntime_int8"]), "", model_figures(warm["models"])]
    return "\n".join(lines)


def graph_figures(ratios: dict[str, dict[str, float]]) -> str:
    plain, optimized = (", ".join(f"{value:.2f}" for value in row.values()) for row in ratios.values())
    return (
        f"With press switched off, our int8 graph takes {optimized} × the time of onnxruntime's transformer "
        f"optimizer and quantizer on the same model, and {plain} × that of its quantizer alone."
    )


def model_figures(models: dict[str, Any]) -> str:
    """What the chooser made of models that are no text encoders."""
    names = ["torch fp32", "torch int8", "onnxruntime", "openvino", "coldpress"]
    lines = [
        f"| warm, one thread, ms for one | {' | '.join(names[:-1])} | **coldpress** | chosen | drift |",
        "|---|" + "---:|" * len(names) + "---|---:|",
    ]
    for name, row in models.items():
        times = row["batch of 1, ms"]
        figures = " | ".join(f"{times[who]:.2f}" if who in times else "" for who in names)
        chosen = row["chosen"] + (f", {row['kept']} layers in floats" if row["kept"] else "")
        lines.append(f"| {name} | {figures} | {chosen} | {row['drift']:.3f} |")
    lines += ["", "Small models with generated weights, peers as they come; int8 where its answers stay right."]
    return "\n".join(lines)


def floor_figures(floor: dict[str, Any]) -> str:
    least = ", ".join(f"{value:.1f}" for value in floor["floor_ms"].values())
    times = ", ".join(f"{value:.2f}" for value in floor["press_over_floor"].values())
    billions, millions = floor["int8_gmac_per_second"], floor["products_per_token"] / 1e6
    return (
        f"This core does {billions:.0f} billion int8 products a second and no more; a token needs {millions:.1f} "
        f"million of them in the model's layers: {least} ms at these shapes. Press, with everything else that a "
        f"model does, takes {times} × that."
    )


def emulator_figures(emulator: dict[str, Any]) -> str:
    latency, rate = emulator["p50_ms"], emulator["per_second"]
    single, many = f"{latency['ours']:.2f} ms", f"{rate['ours']:,} a second"
    return (
        f"The local Lambda: an echo takes {single} through it and {latency['rie']:.2f} ms through AWS's Runtime "
        f"Interface Emulator (p50, one client); over {emulator['connections']} connections it does {many}, the "
        f"other, one at a time, {rate['rie']:,}. With {emulator['alive']} sandboxes alive its own process has "
        f"{emulator['resident_mb']:.0f} MB. Two cores, {emulator['machine']['cpu']}, medians of "
        f"{emulator['rounds']} alternating rounds."
    )


def cost_figures(report: dict[str, Any]) -> str:
    costs, wins = report["per_million_at_one_a_second"], report["cheaper_than_ours_from_a_second"]
    lines = ["| at one request a second, cold starts included | $ per million | wins from |", "|---|---:|---:|"]
    for name, dollars in costs.items():
        if name.startswith("minilm"):
            lines.append(f"| **coldpress**, {name.removeprefix('minilm, ')} | {dollars:.2f} | |")
        else:
            rate = "never" if wins[name] is None else f"{wins[name]:,.0f} a second"
            lines.append(f"| {name} | {dollars:.2f} | {rate} |")
    lines += [
        "",
        f"Ours as measured by `coldpress report` at {report['memory_mb']:,} MB on "
        f"{report['machine']['cpu']}, the others as "
        f"commonly assumed (3.5 GB for 200 ms; 4 GB for 560 ms; one server all month, if it can do any rate).",
    ]
    return "\n".join(lines)


def simulator_figures(simulator: dict[str, Any]) -> str:
    month, played = simulator["month"], simulator["emulator"]
    worst = max(abs(row[name]) for row in simulator["theory"] for name in row if name.endswith("_error"))
    return (
        f"The planner plays {month['requests']:,} requests, a month at twenty a second, to "
        f"{month['strategies']} strategies "
        f"in {month['seconds']:.0f} s on one core, with {month['peak_mb']:.0f} MB. Within "
        f"{worst:.1%} of queueing theory; "
        f"{played['cold_starts_simulated']} cold starts where the local Lambda had "
        f"{played['cold_starts']}, the bill "
        f"{abs(played['bill_error']):.1%} off."
    )


def vision_figures(vision: dict[str, Any]) -> str:
    """Press beside the best of its peers, which differs by model and batch."""
    models = vision["models"]
    lines = [
        "| one thread, ms for a batch of 1, of 4 | " + " | ".join(models) + " |",
        "|---|" + "---:|" * len(models),
    ]
    for press, what in (
        (True, "**coldpress**, press"),
        (False, "the best of torch, onnxruntime and OpenVINO, fp32 and int8"),
    ):
        cells = (
            ", ".join(f"{_press_or_best(row[f'batch of {batch}, ms'], press=press):.1f}" for batch in (1, 4))
            for row in models.values()
        )
        lines.append(f"| {what} | " + " | ".join(cells) + " |")
    cold = vision["cold"]
    lines += [
        "",
        "Vision transformers of 22 million weights, 224 × 224 pixels, and a text of 77 tokens; medians of "
        f"{vision['rounds']} alternating rounds. A classifier of pictures gives its first answer after "
        f"{cold['picture, ms']:.0f} ms, MiniLM after {cold['text, ms']:.0f}: {cold['picture / text']:.1f} ×.",
    ]
    return "\n".join(lines)


def _press_or_best(times: dict[str, float], *, press: bool) -> float:
    if press:
        return times["press"]
    return min(took for peer, took in times.items() if not peer.startswith("press"))


def classic(result: dict[str, Any]) -> dict[str, Any]:
    """What `coldpress demo` puts beside its own figures."""
    warm, size = result["warm"]["classic"], result["sizes_mb"]["classic"]
    return {
        "what": "torch + transformers fp16 under awslambdaric",
        "cpu": result["machine"]["cpu"],
        "cold_ms": result["one_core"]["rie_classic"]["median_ms"],
        "warm_ms": warm["duration_ms"],
        "peak_mb": warm["peak_mb"],
        "cost_per_million": warm["cost_per_million"],
        "zip_mb": size["zip"],
        "unzipped_mb": size["unzipped"],
    }


if __name__ == "__main__":
    main()
