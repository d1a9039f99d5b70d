"""The same model as others serve it, measured beside ours in the same rounds.

classic is torch with transformers, expert is onnxruntime in int8: both on AWS's own runtime client. They are
written for embeddings of texts; what else a model does has no peers here.
"""

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from coldpress.artifact import Artifact
from coldpress.bench.result import Peer
from coldpress.errors import FunctionError, UnsupportedModel, UsageError
from coldpress.progress import Say
from coldpress_runtime.model import read_spec

if TYPE_CHECKING:
    from coldpress.bench.peers.serving import Served
    from coldpress.emulate.sandbox import Invoked, Sandbox
    from coldpress.intake.source import TextEncoder

NAMES = ("classic", "expert")
#: a fast wrong answer wins nothing
LEAST_COSINE = 0.97
_POOLINGS = ("mean", "cls")


@dataclass(frozen=True)
class Peers:
    """Who is wanted, and where the model is."""

    names: tuple[str, ...]
    model: str
    spec: dict[str, Any]
    files: dict[str, str]


def find_peers(
    artifact: Artifact, names: Sequence[str], original: str | os.PathLike[str] | None = None
) -> Peers | None:
    """Check that these peers can be had, before anything is measured; None where nobody is wanted."""
    if not names:
        return None
    from coldpress.bench.peers.serving import need_packages

    for name in names:
        if name not in NAMES:
            raise UsageError(f"--against has {name!r}; it can be: {', '.join(NAMES)}")
    model, spec = _embeds(artifact)
    for name in names:
        need_packages(name)
    origin = str(model["origin"])
    if original is None and not (origin.startswith("demo:") or "@" in origin):
        raise UsageError(
            f"--against needs the original model, and coldpress.json only knows it by the name {origin!r}: "
            "say where it is with --original FOLDER"
        )
    where = origin
    if original is not None:  # a folder here, whatever the peers' own folder is; or a name on the hub
        where = str(Path(original).resolve()) if Path(original).exists() else os.fspath(original)
    found = Peers(tuple(dict.fromkeys(names)), where, spec, model["source_files"])
    with _original(found):
        return found


def compare_with(
    artifact: Artifact,
    peers: Peers,
    events: Mapping[str, bytes],
    usual: str,
    rounds: tuple[int, int],
    say: Say,
) -> list[Peer]:
    """Ours first. `rounds` are cold and warm ones; in each, everybody has a turn on the same one core."""
    from coldpress.bench.peers.serving import serve_ours, serve_peer

    core = {max(os.sched_getaffinity(0))}
    with _original(peers) as source:
        served = [serve_ours(artifact)]
        for name in peers.names:
            say(f"{name}: its model")
            served.append(serve_peer(name, source))
        say("whether all answer alike")
        cosines = _cosines(served, events[usual], core)
        cold: list[list[float]] = [[] for _ in served]
        for number in range(rounds[0]):
            for at, one in enumerate(served):
                say(f"cold starts, round {number + 1} of {rounds[0]}: {one.name}")
                with one.sandbox(core) as sandbox:
                    cold[at].append(round((_answered(sandbox, events[usual]).done - sandbox.started) * 1000, 3))
        warm, peaks = _warm(served, events, rounds[1], core, say)
    say(f"{', '.join(peers.names)}: {rounds[0]} cold and {rounds[1]} warm rounds on one core")
    return [
        Peer(
            name=one.name,
            what=one.what,
            cold_ms=cold[at],
            warm=warm[at],
            peak_mb=round(peaks[at], 1),
            packages_mb=round(one.weight_mb, 1),
            cosine=round(cosines[at], 5),
            cold_ratio=round(median(cold[at]) / median(cold[0]), 2),
            warm_ratio=round(median(warm[at][usual]) / median(warm[0][usual]), 2),
        )
        for at, one in enumerate(served)
    ]


def _embeds(artifact: Artifact) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the manifest and task.json say of the one model, if the peers can serve such a one."""
    models = artifact.manifest["models"]
    tasks = sorted({str(model["task"]) for model in models.values()})
    if "custom" in artifact.manifest or tasks != ["embeddings"] or artifact.is_many:
        does = "code of one's own" if "custom" in artifact.manifest else " and ".join(tasks)
        does = f"{len(models)} models" if artifact.is_many else does
        raise UsageError(
            f"--against: the handlers of {' and '.join(NAMES)} embed texts, and {artifact.name} is for {does}: "
            "there is nothing to compare it with here"
        )
    ((name, model),) = models.items()
    spec = read_spec(str(artifact.model_folder(name)))
    if spec["pooling"] not in _POOLINGS or spec.get("prompt"):
        what = (
            f"a prompt before each text ({spec['prompt']})" if spec.get("prompt") else f"pooling {spec['pooling']}"
        )
        raise UsageError(
            f"--against: {artifact.name} has {what}; the peers' handlers know {' and '.join(_POOLINGS)}"
        )
    return model, spec


@contextmanager
def _original(peers: Peers) -> "Iterator[TextEncoder]":
    """The very model that was pressed, by the hashes of its files."""
    from coldpress.intake import Options, find
    from coldpress.intake.source import TextEncoder

    model, _, revision = peers.model.partition("@") if not Path(peers.model).exists() else (peers.model, "", "")
    options = Options(
        task="embeddings",
        pooling=peers.spec["pooling"],
        max_tokens=peers.spec["max_tokens"],
        revision=revision or None,
    )
    with find(model, options) as source:
        other = [name for name, digest in peers.files.items() if source.files.get(name) != digest]
        if other:
            raise UsageError(
                f"{peers.model} is not the model that was pressed: {other[0]} differs or is missing; "
                "name the right one with --original FOLDER"
            )
        if not isinstance(source, TextEncoder) or source.dense or source.projection or source.encoder_only:
            raise UnsupportedModel(
                f"--against: {peers.model} has layers after its pooling or is half of a larger model; the peers' "
                "handlers pool what AutoModel gives and do no more"
            )
        yield source


def _cosines(served: "list[Served]", event: bytes, core: set[int]) -> list[float]:
    vectors = []
    for one in served:
        with one.sandbox(core) as sandbox:
            vectors.append([float(value) for value in json.loads(_answered(sandbox, event).body)["embeddings"][0]])
    found = [_cosine(vector, vectors[0]) for vector in vectors]
    for one, cosine in zip(served, found, strict=True):
        if cosine < LEAST_COSINE:
            raise FunctionError(
                f"{one.name} answers otherwise than ours: the cosine is {cosine:.3f}, and must be "
                f"{LEAST_COSINE} or more; figures of different answers compare nothing"
            )
    return found


def _cosine(one: list[float], other: list[float]) -> float:
    if len(one) != len(other):
        return 0.0
    lengths = math.sqrt(sum(value**2 for value in one)) * math.sqrt(sum(value**2 for value in other))
    return sum(left * right for left, right in zip(one, other, strict=True)) / lengths if lengths else 0.0


def _warm(
    served: "list[Served]", events: Mapping[str, bytes], rounds: int, core: set[int], say: Say
) -> tuple[list[dict[str, list[float]]], list[float]]:
    times: list[dict[str, list[float]]] = [{name: [] for name in events} for _ in served]
    with ExitStack() as stack:
        sandboxes = [stack.enter_context(one.sandbox(core)) for one in served]
        for name, event in events.items():
            say(f"warm requests, {name}")
            for _ in range(rounds):
                for at, sandbox in enumerate(sandboxes):
                    _answered(sandbox, event)  # a model alone in the cache, as on Lambda
                    times[at][name].append(round(_answered(sandbox, event).duration_ms, 3))
        peaks = [sandbox.memory_mb("VmHWM") for sandbox in sandboxes]
    return times, peaks


def _answered(sandbox: "Sandbox", event: bytes) -> "Invoked":
    invoked = sandbox.invoke(event)
    if not invoked.ok or b'"embeddings"' not in invoked.body[:100]:
        said = invoked.body.decode(errors="replace")[:500]
        raise FunctionError(f"a function failed while it was measured: {said}\nIts log:\n{sandbox.log()[-1500:]}")
    return invoked
