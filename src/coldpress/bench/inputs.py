"""What a function is asked while it is measured: its task's typical requests, by names that stay the same."""

import json
from base64 import b64encode
from typing import Any

from coldpress.artifact import Artifact
from coldpress.errors import UsageError
from coldpress_runtime.model import read_spec

Request = dict[str, Any]

#: (texts, tokens): a search query, a paragraph, a small batch
_SHAPES = ((1, 16), (1, 128), (8, 64))
_SAMPLES = 3
_OWN = "your request"


def typical(artifact: Artifact, own: str | None = None) -> dict[str, Request]:
    """Requests by name, the usual one first; with `own`, as JSON, that one alone."""
    if own is not None:
        return own_request(own)
    if "custom" in artifact.manifest:
        return _carried(artifact.manifest["custom"]["samples"], artifact)
    if artifact.is_many:  # each model once: how it feels when requests are spread over them
        return _carried(
            [one for model in artifact.manifest["models"].values() for one in model["samples"][:1]], artifact
        )
    return _of_task(artifact)


def _of_task(artifact: Artifact) -> dict[str, Request]:
    ((name, model),) = artifact.manifest["models"].items()
    spec = read_spec(str(artifact.model_folder(name)))
    task = str(spec["task"])
    if "max_tokens" in spec:
        return dict(_texts(task, spec, texts, tokens) for texts, tokens in _SHAPES)
    if task.startswith("image-"):
        return _pictures()
    if task.startswith("audio-"):
        return _sounds(int(spec["rate"]))
    if model["samples"]:
        return _carried(model["samples"], artifact)
    from coldpress.tasks import task_class

    asked: list[Request] = task_class(task).asked(spec)
    return {"one": asked[0]}


def event_of(request: Request) -> bytes:
    return json.dumps(request).encode()


def _texts(task: str, spec: dict[str, Any], texts: int, tokens: int) -> tuple[str, Request]:
    tokens = min(tokens, int(spec["max_tokens"]))
    name = f"{tokens} tokens" if texts == 1 else f"{texts} texts of {tokens} tokens"
    if task == "reranking":
        return name, {"query": _words(10), "documents": [_words(tokens - 9)] * texts}
    if task == "question-answering":
        fields = {"question": _words(8), "context": _words(tokens - 7)}
    elif task == "fill-mask":
        fields = {"text": f"{spec['mask_text']} {_words(tokens - 1)}"}
    else:
        fields = {"text": _words(tokens)}
    return name, {field: text if texts == 1 else [text] * texts for field, text in fields.items()}


def _words(tokens: int) -> str:
    """A text of that many tokens, two of which are the tokenizer's own, as a rule."""
    return " ".join(["word"] * max(1, tokens - 2))


def _pictures() -> dict[str, Request]:
    from coldpress.pictures import made_up, png

    (picture,) = made_up(1, seed=2)
    image = b64encode(png(picture)).decode()
    return {"1 picture": {"image": image}, "4 pictures": {"image": [image] * 4}}


def _sounds(rate: int) -> dict[str, Request]:
    from coldpress.sounds import steady, wav

    return {
        f"{seconds} s of sound": {"audio": b64encode(wav(steady(seconds, rate, seed=2), rate)).decode()}
        for seconds in (1, 5)
    }


def _carried(samples: list[dict[str, Any]], artifact: Artifact) -> dict[str, Request]:
    if not samples:
        raise UsageError(
            f"{artifact.path} carries no sample requests to measure with: give one by --data JSON, "
            "or write some under [samples] in coldpress.toml and build it again"
        )
    return {f"sample {number}": sample["request"] for number, sample in enumerate(samples[:_SAMPLES], 1)}


def own_request(own: str) -> dict[str, Request]:
    """One that somebody wrote, as JSON."""
    try:
        request = json.loads(own)
    except ValueError as error:
        raise UsageError(f"--data {own[:80]!r} is not JSON: {error}") from None
    if not isinstance(request, dict):
        raise UsageError(f"--data {own[:80]!r} is not a JSON object")
    return {_OWN: request}
