"""Before a version takes traffic: it is asked the artifact's own samples, and must answer as the manifest says."""

import json
import math
from collections.abc import Iterator
from typing import Any

from coldpress.artifact import Artifact
from coldpress.deploy.aws import Aws
from coldpress.deploy.calling import ask
from coldpress.errors import DeployError

#: of the largest number of an answer: int8 graphs round differently from CPU to CPU by up to 0.03, and the
#: manifest's digits are few; a wrong model is off by far more
_TOLERANCE = 0.05


def samples(artifact: Artifact) -> list[dict[str, Any]]:
    """Requests with their answers, where the artifact has them."""
    if "custom" in artifact.manifest:
        return [one for one in artifact.manifest["custom"]["samples"] if "request" in one]
    return [one for model in artifact.manifest["models"].values() for one in model.get("samples", [])]


def check_version(aws: Aws, name: str, version: str, artifact: Artifact) -> int:
    """Ask them all, which also warms it; how many there were."""
    asked = samples(artifact)
    for number, sample in enumerate(asked, 1):
        answer = invoke(aws, name, version, sample["request"])
        if "answer" in sample and not alike(sample["answer"], answer):
            raise DeployError(
                f"version {version} of {name} answers sample {number} of {len(asked)} differently "
                f"than the manifest of "
                f"{artifact.path} says; it was not made live. Is the function another artifact's? "
                f"Verify this one: "
                f"coldpress verify {artifact.path}"
            )
    return len(asked)


def invoke(aws: Aws, name: str, version: str, request: Any) -> Any:
    done = ask(aws, name, version, json.dumps(request).encode(), log=False)
    body = done.body.decode(errors="replace")
    if not done.ok:
        raise DeployError(f"version {version} of {name} failed: {body[:500]}; it was not made live")
    try:
        return json.loads(body)
    except ValueError:
        raise DeployError(
            f"version {version} of {name} answered no JSON: {body[:200]!r}; it was not made live"
        ) from None


def alike(expected: Any, found: Any) -> bool:
    """The same shape and words, and numbers that are close."""
    right, ours = list(_leaves(expected)), list(_leaves(found))
    if len(right) != len(ours):
        return False
    scale = max([1.0, *(abs(one) for one in right if isinstance(one, float))])
    return all(_near(one, other, scale) for one, other in zip(right, ours, strict=True))


def _near(one: Any, other: Any, scale: float) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isfinite(other) and abs(one - other) <= _TOLERANCE * scale
    return bool(one == other)


def _leaves(value: Any) -> Iterator[Any]:
    """Names, words and numbers, in their order."""
    if isinstance(value, dict):
        for name in sorted(value):
            yield name
            yield from _leaves(value[name])
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)
    else:
        yield value
