"""Print the pieces of an answer as they arrive, each with its time: python watch.py URL "a question"."""

import json
import sys
from collections.abc import Iterator
from time import perf_counter
from typing import Any
from urllib.request import Request, urlopen


def pieces(url: str, question: str) -> Iterator[dict[str, Any]]:
    """Server-sent events: `data: {…}` and an empty line for each; what fails on the way ends as `event: error`."""
    body = json.dumps({"question": question}).encode()
    with urlopen(Request(url, body, {"content-type": "application/json"})) as response:
        for line in response:
            if line.startswith(b"event: error"):
                sys.exit(f"the function failed: {next(response, b'').decode()}")
            if line.startswith(b"data: "):
                yield json.loads(line.removeprefix(b"data: "))


if __name__ == "__main__":
    url, question = sys.argv[1:]
    start = perf_counter()
    for piece in pieces(url, question):
        said = piece.get("answer") or f"passage {piece['passage']:>2}  {piece['nearness']:.2f}"
        print(f"{1000 * (perf_counter() - start):4.0f} ms  {said}", flush=True)
