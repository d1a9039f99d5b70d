"""Press what is not pressed yet, and make one function of all."""

import inspect
import shutil
from pathlib import Path
from typing import Any

from coldpress.artifact import MANIFEST, Artifact
from coldpress.errors import UsageError
from coldpress.many.asked import LAYER, Asked
from coldpress.many.combine import combine, licences, models_described
from coldpress.many.tenants import read_tenants
from coldpress.progress import Progress, Silent
from coldpress.target import replacing

#: of what `build` takes, what is the function's own, and what holds for every model that is pressed
_FUNCTION = ("out", "name", "package", "base", "layer", "models", "default", "tenants", "models_at", "progress")
_EACH = ("precision", "engine", "arch", "quick", "max_drift")
_NAME = "models"


def build_many(given: dict[str, Any]) -> Artifact:
    """`given` is what `build` was called with."""
    from coldpress.build import build
    from coldpress.manifest import close_artifact
    from coldpress.package.pack import Packing, pack

    _refuse(given, inspect.signature(build).parameters)
    tenants, models = given["tenants"], dict(given["models"])
    asked = Asked(
        models,
        given["default"],
        None if tenants is None else read_tenants(Path(tenants), models),
        given["models_at"],
    )
    packing = Packing(given["package"], given["base"], given["layer"], asked.at == LAYER)
    show: Progress = given["progress"] or Silent()
    with replacing(Path(given["out"])) as staging:
        work = staging / ".work"
        work.mkdir()
        each = {name: given[name] for name in _EACH}
        artifacts = {}
        for name, model in models.items():
            artifacts[name] = _artifact(model) or build(
                model, out=work / name, name=name, package="none", progress=show, **each
            )
        with show.stage("combine") as say:
            tree = combine(asked, artifacts, staging)
            say(f"{len(artifacts)} models: {', '.join(artifacts)}")
        name = given["name"] or _NAME
        engines = sorted({str(one.manifest["engine"]) for one in artifacts.values()})
        pack(staging, name, engines[0], tree, packing, show)
        said = {
            "name": name,
            "engine": engines[0] if len(engines) == 1 else "several",
            "models": models_described(artifacts),
            "many": {
                "default": asked.default,
                "at": asked.at,
                "tenants": len((asked.tenants or {}).get("tenants", {})),
            },
        }
        close_artifact(
            staging,
            tree,
            said,
            sum(one.manifest["sizes"]["source_weights"] for one in artifacts.values()),
            licences(artifacts),
            [trial for one in artifacts.values() for trial in one.measured()["candidates"]],
        )
        shutil.rmtree(work)
    return Artifact.open(given["out"])


def _artifact(model: Any) -> Artifact | None:
    """Something that is pressed already."""
    if isinstance(model, Artifact):
        return model
    is_artifact = isinstance(model, str | Path) and (Path(model) / MANIFEST).is_file()
    return Artifact.open(model) if is_artifact else None


def _refuse(given: dict[str, Any], known: Any) -> None:
    """What can be meant for one model only."""
    for name, value in given.items():
        if name in (*_FUNCTION, *_EACH) or value == known[name].default:
            continue
        raise UsageError(
            f"{'MODEL' if name == 'model' else '--' + name.replace('_', '-')} is for one model, and --models are "
            "several: press that one by itself, and name its artifact in --models"
        )
