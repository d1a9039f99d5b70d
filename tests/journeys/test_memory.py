"""Inside 128 MB, the smallest function there is: the largest requests that are accepted, one after the other.

What counts is VmHWM, the most that was ever resident: private memory, and pages of mapped files that were read.
"""

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import coldpress
from coldpress.artifact import Artifact
from coldpress.emulate.sandbox import Sandbox

LIMIT_MB = 128
LARGEST_EVENT = 6 * 1024 * 1024
LARGEST_ANSWER = 6 * 1024 * 1024

#: One character outside the basic plane makes Python keep four bytes for each of a text.
WIDE = "😀"


def over_http(path: str, body: object, in_base64: bool = False) -> dict[str, object]:
    text = json.dumps(body, ensure_ascii=False)
    return {
        "version": "2.0",
        "rawPath": path,
        "requestContext": {"http": {"method": "POST"}},
        "body": base64.b64encode(text.encode()).decode() if in_base64 else text,
        "isBase64Encoded": in_base64,
    }


def texts(count: int, size: int, words: int = 2) -> list[str]:
    """Texts of `size` characters and as many words as asked for."""
    some = "word " * words + WIDE
    return [f"{at} {some}".ljust(size) for at in range(count)]


POOLED: dict[str, Callable[[], object]] = {
    "most texts": lambda: {"text": texts(1250, 4700)},
    "most texts, every one at its limit of tokens": lambda: {"text": texts(1250, 4700, 130)},
    "longest texts": lambda: {"text": texts(60, 99_990)},
    "most texts over HTTP": lambda: over_http("/", {"text": texts(1250, 4700)}),
    "most texts over HTTP, in base64": lambda: over_http("/", {"text": texts(1250, 3500)}, in_base64=True),
    "as OpenAI's client asks": lambda: over_http(
        "/v1/embeddings", {"input": texts(2048, 2850), "encoding_format": "base64"}
    ),
}
PER_TOKEN: dict[str, Callable[[], object]] = {
    "most tokens": lambda: {"text": texts(4, 99_990, 130) + texts(1, 99_990, 90)},
    "most texts of few tokens": lambda: over_http("/", {"text": texts(250, 23_000, 1)}),
}


def peak(function: Path, requests: dict[str, Callable[[], object]]) -> float:
    """The highest memory that a sandbox has after all requests, each of which must be answered."""
    highest = 0.0
    with Sandbox(function, memory_mb=LIMIT_MB, timeout=300) as sandbox:
        for name, make in requests.items():
            event = json.dumps(make(), ensure_ascii=False).encode()
            assert len(event) <= LARGEST_EVENT, name
            answer = sandbox.invoke(event)
            assert answer.ok
            assert b'"error"' not in answer.body[:200], f"{name}: {answer.body[:300]!r}"
            assert len(answer.body) <= LARGEST_ANSWER
            highest = max(highest, answer.peak_mb)
    return highest


@pytest.mark.slow
def test_the_largest_requests(artifact: Artifact) -> None:
    assert peak(artifact.function_folder, POOLED) <= LIMIT_MB


@pytest.mark.slow
def test_the_largest_answers_per_token(tmp_path: Path) -> None:
    pressed = coldpress.build("demo:minilm", out=tmp_path / "out", package="none", pooling="none", quick=True)
    assert peak(pressed.function_folder, PER_TOKEN) <= LIMIT_MB


def test_an_event_stays_its_callers(artifact: Artifact) -> None:
    event = over_http("/", {"text": "hi"})
    before = dict(event)
    function = artifact.function()
    assert function(event) == function(event)
    assert event == before
