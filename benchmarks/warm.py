"""Warm latency on one core: press beside every engine that runs the same model.

Two tables. Tokens in, floats out: the engines alone, at shapes of (texts, tokens). Text in, JSON out:
what a request costs inside a function. One run, contestants alternating, medians; a turn begins with a call
that is not timed, for on Lambda no other model stands in the cache. Beside them the arithmetic floor: the
time that the layers' int8 products alone would take, were the core never to do anything else.

    make bench        (or: python benchmarks/warm.py --rounds 15)
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import coldpress
from coldpress.machine import cpu_name
from coldpress.optimize.press.file import linear_shapes
from coldpress.samples import builtin_texts
from coldpress.tasks.tokenizer import prepare_tokenizer
from coldpress_runtime.function import Function
from contestants import cores_for
from models import BATCHES, MODELS, OURS, contestants
from models import inputs as model_inputs
from peers import Embed, demo_source, ours, peers

RESULT = Path(__file__).parent / "results" / "warm.json"
SHAPES = ((1, 16), (1, 128), (8, 64), (32, 128))
CALLS = 3  # timed in a turn
PRESS = "coldpress press"
GRAPH = "coldpress onnxruntime"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--work", type=Path, default=Path(".cache/warm"))
    parser.add_argument("--result", type=Path, default=RESULT)
    parser.add_argument("--part", choices=("encoders", "models", "all"), default="all")
    arguments = parser.parse_args()
    work = arguments.work.resolve()
    machine = {"cpu": cpu_name(), "cores": os.cpu_count()}
    result: dict[str, Any] = {"machine": machine, "rounds": arguments.rounds}
    if arguments.part != "all":  # the other tables stay as they were measured, by the same machine
        known = json.loads(arguments.result.read_text())
        assert known["machine"] == machine
        result = known | result
    if arguments.part != "models":
        result |= encoders(work, arguments.rounds)
    if arguments.part != "encoders":
        os.sched_setaffinity(0, cores_for(1))
        result["models"] = by_model(work, arguments.rounds)
    arguments.result.write_text(json.dumps(result, indent=1) + "\n")
    show(result)


def encoders(work: Path, rounds: int) -> dict[str, Any]:
    source = demo_source()
    press = coldpress.build("demo:minilm", out=work / "press", engine="press", quick=True, package="none")
    # First, while no peer's idle threads are about.
    two_threads = speedup({"one": ours(press, 1), "two": ours(press, 2)}, rounds)
    engines = peers(work)
    graph = coldpress.build(
        "demo:minilm", out=work / "graph", engine="onnxruntime", precision="int8", quick=True, package="none"
    )
    engines |= {GRAPH: ours(graph, 1), PRESS: ours(press, 1)}
    os.sched_setaffinity(0, cores_for(1))
    tokens = by_shape(engines, rounds)
    text = by_text(engines, Function(str(press.function_folder)), source, work, rounds)
    return {
        "tokens_ms": tokens,
        "tokens_press_over_best_peer": over_best(tokens),
        "text_ms": text,
        "text_press_over_best_peer": over_best(text),
        "two_threads_speedup": two_threads,
        "floor": floor(press, tokens),
        "onnxruntime_int8": against_onnxruntime(tokens),
    }


def by_model(work: Path, rounds: int) -> dict[str, Any]:
    """Models that are no text encoders: what the chooser took, and how long each contestant needs."""
    table: dict[str, Any] = {}
    for name in MODELS:
        runs, chosen = contestants(name, work)
        recipe = chosen["recipe"]
        row: dict[str, Any] = {
            "chosen": f"{recipe['engine']} {recipe['precision']}",
            "kept": len(recipe["keep"]),
            "drift": round(chosen["verdict"]["drift"]["total"], 4),
        }
        for batch in BATCHES:
            x = model_inputs(name, batch)
            row[f"batch of {batch}, ms"] = alternate({who: partial(run, x) for who, run in runs.items()}, rounds)
        table[name] = row
    return table


def against_onnxruntime(tokens_ms: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Our graph beside those that onnxruntime's own tools make of the same model."""
    return {
        peer: {shape: round(row[GRAPH] / row[peer], 3) for shape, row in tokens_ms.items()}
        for peer in ("onnxruntime int8", "onnxruntime int8, its transformer optimizer")
    }


def floor(press: coldpress.Artifact, tokens_ms: dict[str, dict[str, float]]) -> dict[str, Any] | None:
    """The least that int8 products can take on this core, and how often press takes that; None without VNNI."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "peak"
        source = Path(__file__).parent / "peak.c"
        compiled = subprocess.run(["gcc", "-O3", "-mavx512vnni", source, "-o", program], check=False)
        ran = (
            subprocess.run([program], capture_output=True, text=True, check=False)
            if not compiled.returncode
            else None
        )
    if ran is None or ran.returncode:
        return None
    billions = float(ran.stdout)
    model = next((press.function_folder / "models").glob("*/model.press"))
    products = sum(inputs * outputs for inputs, outputs in linear_shapes(model))
    floors = {
        f"({texts}, {tokens})": round(texts * tokens * products / billions / 1e6, 3) for texts, tokens in SHAPES
    }
    return {
        "int8_gmac_per_second": billions,
        "products_per_token": products,
        "floor_ms": floors,
        "press_over_floor": {shape: round(tokens_ms[shape][PRESS] / least, 2) for shape, least in floors.items()},
    }


def inputs(texts: int, tokens: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    ids = np.random.default_rng(texts * tokens).integers(1000, 20_000, (texts, tokens))
    ids[:, 0], ids[:, -1] = 101, 102
    return ids


def by_shape(engines: dict[str, Embed], rounds: int) -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    for texts, tokens in SHAPES:
        ids = inputs(texts, tokens)
        table[f"({texts}, {tokens})"] = alternate(
            {name: partial(embed, ids) for name, embed in engines.items()},
            rounds if texts < 32 else max(3, rounds // 3),
        )
    return table


def by_text(
    engines: dict[str, Embed], function: Function, source: Any, work: Path, rounds: int
) -> dict[str, dict[str, float]]:
    """The whole of a request, without the network: our function, and the peers as a handler would use them."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(prepare_tokenizer(source).json())
    mixed = [text for text in builtin_texts("coldpress.verify", "samples/texts.jsonl") if text.strip()][:64]
    requests = {f"({texts}, {tokens})": [" ".join(["word"] * (tokens - 2))] * texts for texts, tokens in SHAPES}
    table = {}
    for name, texts in (requests | {"64 mixed": mixed}).items():
        event = json.dumps({"text": texts}).encode()
        runs: dict[str, Callable[[], object]] = {PRESS: partial(function.answer, event)}
        for peer in ("onnxruntime int8", "ctranslate2 int8", "torch int8"):
            runs[peer] = partial(handler, event, engines[peer], tokenizer)
        table[name] = alternate(runs, rounds if len(texts) < 32 else max(3, rounds // 3))
    return table


def handler(event: bytes, embed: Embed, tokenizer: Any) -> str:
    """As people write it: tokenize, run texts of equal length together, dump JSON."""
    texts = json.loads(event)["text"]
    groups: dict[int, list[int]] = defaultdict(list)
    ids = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    for at, one in enumerate(ids):
        groups[len(one)].append(at)
    answers: list[Any] = [None] * len(texts)
    for group in groups.values():
        for at, vector in zip(group, np.asarray(embed(np.array([ids[at] for at in group]))), strict=True):
            answers[at] = vector.tolist()
    return json.dumps({"embeddings": answers})


def alternate(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    times: dict[str, list[float]] = defaultdict(list)
    for run in runs.values():
        run()
    for _ in range(rounds):
        for name, run in runs.items():
            run()
            for _ in range(CALLS):
                began = time.perf_counter()
                run()
                times[name].append((time.perf_counter() - began) * 1000)
    return {name: round(median(took), 3) for name, took in times.items()}


def over_best(table: dict[str, dict[str, float]]) -> dict[str, float]:
    return {
        shape: round(row[PRESS] / min(took for name, took in row.items() if not name.startswith("coldpress")), 3)
        for shape, row in table.items()
    }


def speedup(engines: dict[str, Embed], rounds: int) -> dict[str, float]:
    result = {}
    for texts, tokens in SHAPES[2:]:
        ids = inputs(texts, tokens)
        row = alternate({name: partial(embed, ids) for name, embed in engines.items()}, rounds)
        result[f"({texts}, {tokens})"] = round(row["one"] / row["two"], 2)
    return result


def show(result: dict[str, Any]) -> None:
    console = Console()
    for key, title in (("tokens_ms", "Tokens in, floats out"), ("text_ms", "Text in, JSON out")):
        table = Table(title=f"{title}, one core, ms", title_justify="left")
        shapes = list(result[key])
        for heading in ("", *shapes):
            table.add_column(heading, justify="right" if heading else "left")
        for name in result[key][shapes[0]]:
            table.add_row(name, *(f"{result[key][shape][name]:.2f}" for shape in shapes))
        console.print(table)
    table = Table(title="Other models, batch of one, one core, ms", title_justify="left")
    names = ["torch fp32", "torch int8", "onnxruntime", "openvino", OURS]
    for heading in ("", "chosen", *names):
        table.add_column(heading, justify="right" if heading in names else "left")
    for name, row in result["models"].items():
        times = row["batch of 1, ms"]
        table.add_row(name, row["chosen"], *(f"{times[who]:.2f}" if who in times else "" for who in names))
    console.print(table)
    console.print(result["onnxruntime_int8"])
    console.print({key: result[key] for key in result if key.endswith(("peer", "speedup"))})


if __name__ == "__main__":
    main()
