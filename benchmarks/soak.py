"""A sandbox that serves 100,000 requests: nothing may grow, and every answer stays the one it was.

Most requests are short; some are long, some hold many texts, some are wrong. Memory is what Linux counts as
resident. All words come in the first thousand requests: rows of the embedding table are pages of a file, and count
when read.

    python benchmarks/soak.py            (or: --requests 3000, or with the folder of an artifact)
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

import coldpress
from coldpress.artifact import Artifact
from coldpress.emulate.sandbox import Sandbox
from coldpress.machine import cpu_name
from coldpress.samples import builtin_texts

RESULT = Path(__file__).parent / "results" / "soak.json"
REQUESTS = 100_000
SETTLED = 1000
MOST_MB, MOST_SHARE = 1.0, 0.02


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("artifact", type=Path, nargs="?", help="built before; without it demo:minilm is built")
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--work", type=Path, default=Path(".cache/soak"))
    parser.add_argument("--result", type=Path, default=RESULT)
    arguments = parser.parse_args()
    if arguments.artifact:
        function = Artifact.open(arguments.artifact).function_folder
    else:
        function = coldpress.build("demo:minilm", out=arguments.work.resolve(), package="none").function_folder
    console = Console(stderr=True)
    result = soak(function, arguments.requests, lambda numbers: track(numbers, "requests", console=console))
    arguments.result.write_text(json.dumps(result, indent=1) + "\n")
    console.print(result)
    if result["wrong"]:
        sys.exit("\n".join(result["wrong"]))


def soak(function: Path, requests: int, shown: Callable[[range], Iterable[int]] = iter) -> dict[str, Any]:
    """Serve `requests` requests and say what changed between the first thousand and the end."""
    rng = random.Random(0)
    some = events()
    answers: dict[bytes, bytes] = {}
    wrong: list[str] = []
    settled: dict[str, float] = {}
    began = time.monotonic()
    with Sandbox(function, timeout=120) as sandbox:
        for number in shown(range(requests)):
            event = some[number % len(some)]
            if number % len(some) == 0 and number >= SETTLED:
                rng.shuffle(some)
            answer = sandbox.invoke(event)
            digest = sha256(answer.body).digest()
            if not answer.ok or answers.setdefault(event, digest) != digest:
                wrong.append(f"request {number}: {answer.body[:300].decode(errors='replace')}")
                break
            if number + 1 == SETTLED:
                settled = state(sandbox)
        ended = state(sandbox)
    grown = ended["resident_mb"] - settled["resident_mb"]
    if grown > min(MOST_MB, MOST_SHARE * settled["resident_mb"]):
        wrong.append(f"it grew by {grown:.2f} MB, from {settled['resident_mb']:.2f} MB")
    wrong += [
        f"{what} went from {settled[what]:g} to {ended[what]:g}"
        for what in ("descriptors", "threads")
        if settled[what] != ended[what]
    ]
    return {
        "machine": {"cpu": cpu_name()},
        "requests": requests,
        "kinds": len(some),
        "seconds": round(time.monotonic() - began, 1),
        f"after_{SETTLED}": settled,
        "at_the_end": ended,
        "grown_mb": round(grown, 2),
        "wrong": wrong,
    }


def state(sandbox: Sandbox) -> dict[str, float]:
    process = Path(f"/proc/{sandbox.pid}")
    return {
        "resident_mb": round(sandbox.memory_mb("VmRSS"), 2),
        "private_mb": round(sandbox.memory_mb("RssAnon"), 2),
        "peak_mb": round(sandbox.memory_mb("VmHWM"), 2),
        "descriptors": len(list((process / "fd").iterdir())),
        "threads": len(list((process / "task").iterdir())),
    }


def events() -> list[bytes]:
    """Five hundred requests: nine of ten short, the others long, many at once, or wrong."""
    rng = random.Random(1)
    words = sorted(
        {word for text in builtin_texts("coldpress.verify", "samples/texts.jsonl") for word in text.split()}
    )

    def text(tokens: int) -> str:
        return " ".join(rng.choices(words, k=tokens))

    bodies: list[object] = [{"text": text(rng.randint(1, 12))} for _ in range(390)]
    bodies += [
        _over_http({"input": text(8), "encoding_format": rng.choice(["float", "base64"])}) for _ in range(40)
    ]
    bodies += [{"text": text(128)} for _ in range(25)]
    bodies += [{"text": [text(rng.randint(1, 30)) for _ in range(rng.randint(2, 12))]} for _ in range(15)]
    bodies += [{"text": [text(64)] * 8} for _ in range(5)]
    bodies += [{"text": ""}, {"text": "\ud800"}, {"text": "é" * 5000, "truncate": False}]
    bodies += [{}, {"text": []}, {"text": 3}, {"text": [1, 2]}, {"text": "x" * 100_001}, None, [], "text", 7]
    bodies += [
        _over_http({"input": text(3), "dimensions": 5}),
        _over_http({"input": None}),
        _over_http("no object"),
    ]
    made = [json.dumps(body).encode() for body in bodies]
    made += [b"", b"{", b'{"text": NaN}', b"\xff\xfe", b'{"text": "' + b"[" * 2000, b"[" * 50_000]
    rng.shuffle(made)
    return made


def _over_http(body: object) -> dict[str, object]:
    return {
        "version": "2.0",
        "rawPath": "/v1/embeddings",
        "requestContext": {"http": {"method": "POST"}},
        "body": json.dumps(body),
    }


if __name__ == "__main__":
    main()
