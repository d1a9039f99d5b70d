"""Before a version takes traffic: it is asked the artifact's own samples, and must answer as the manifest says."""

import json
import math
from typing import Any

from coldpress.artifact import Artifact
from coldpress.deploy.aws import Aws
from coldpress.deploy.calling import ask
from coldpress.errors import DeployError

#: of a single number, and of a list's length: int8 graphs round differently from CPU to CPU by up to 0.03, and the
#: manifest's digits are few; a wrong model is off by far more
_TOLERANCE, _BETWEEN, _LEAST = 0.05, 0.15, 1e-3


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
    """The same shape and words; lists of numbers that point the same way, single ones that are close, whole ones
    that are the same."""
    if isinstance(expected, dict):
        same = isinstance(found, dict) and expected.keys() == found.keys()
        return same and all(alike(value, found[name]) for name, value in expected.items())
    if isinstance(expected, list):
        if not isinstance(found, list) or len(expected) != len(found):
            return False
        if (
            len(expected) > 1
            and all(map(_is_number, expected))
            and any(isinstance(one, float) for one in expected)
        ):
            return all(map(_is_number, found)) and _near(expected, found)
        return all(alike(one, other) for one, other in zip(expected, found, strict=True))
    if isinstance(expected, float) and _is_number(found):
        return math.isfinite(found) and abs(expected - found) <= _TOLERANCE * max(1.0, abs(expected))
    return type(expected) is type(found) and bool(expected == found)


def _are_floats(values: list[Any]) -> bool:
    return all(map(_is_number, values)) and any(isinstance(one, float) for one in values)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _near(expected: list[float], found: list[float]) -> bool:
    """By the length of what lies between them: each number of a long vector is small by itself."""
    between = math.dist(expected, found)
    return math.isfinite(between) and between <= _BETWEEN * math.hypot(*expected) + _LEAST
