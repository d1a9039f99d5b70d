"""From artifacts to one function that serves all of their models."""

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from coldpress.artifact import SBOM, STORE, Artifact, folder_bytes
from coldpress.errors import UsageError
from coldpress.many.asked import Asked
from coldpress.many.store import put_aside
from coldpress.package.function import FunctionTree, keep_own, place_loop, readable, write_spec
from coldpress.package.libraries import host_architecture, own_library
from coldpress_runtime.engines.press import LIBRARY, Engine
from coldpress_runtime.many.index import FILE, FORMAT
from coldpress_runtime.model import read_spec

#: as many threads as the largest function has
_MOST_THREADS = 6
#: what other engines than press take: their weights mapped and unpacked, and room to compute in
_TIMES, _BESIDE = 2, 8_000_000


def combine(asked: Asked, artifacts: dict[str, Artifact], staging: Path) -> FunctionTree:
    """The function's tree in `staging`, and beside it the store, if that is where models go."""
    arch, python = _same(artifacts)
    root = staging / "function"
    pythons = place_loop(root)
    tasks = {str(model["task"]) for one in artifacts.values() for model in one.manifest["models"].values()}
    keep_own(
        root / "coldpress_runtime", tasks, {str(one.manifest["engine"]) for one in artifacts.values()}, many=True
    )
    index: dict[str, Any] = {}
    for name, artifact in artifacts.items():
        folder = root / "models" / name
        shutil.copytree(artifact.model_folder(next(iter(artifact.manifest["models"]))), folder)
        spec = read_spec(str(folder))
        write_spec(folder, {**spec, "name": name})
        index[name] = {"memory": _memory(folder, spec)}
        for part in ("lib", "licenses"):
            _merge(artifact, part, root / part)
        if asked.store:
            index[name]["files"] = put_aside(folder, staging / STORE)
    said = {
        "format": FORMAT,
        "models": index,
        **({} if asked.default is None else {"default": asked.default}),
        **({} if asked.store is None else {"store": asked.store}),
        **({} if asked.tenants is None else {"tenants": asked.tenants}),
    }
    (root / "models" / FILE).write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    readable(root)
    versions: dict[str, str] = {}
    for artifact in artifacts.values():
        versions |= artifact.manifest["versions"]
    return FunctionTree(root, arch, versions, python, pythons)


def models_described(artifacts: dict[str, Artifact]) -> dict[str, Any]:
    """What the manifest says of each: what its own artifact does, with samples that name the model."""
    described = {}
    for name, artifact in artifacts.items():
        (model,) = artifact.manifest["models"].values()
        samples = [
            {**one, "request": {"model": name, **one["request"]}, "answer": _renamed(one["answer"], name)}
            for one in model["samples"]
        ]
        described[name] = {**model, "samples": samples}
    return described


def licences(artifacts: dict[str, Artifact]) -> dict[str, str | None]:
    """Of each model, as its own bill of materials has it."""
    found: dict[str, str | None] = {}
    for name, artifact in artifacts.items():
        bill = json.loads((artifact.path / SBOM).read_text(encoding="utf-8"))
        said = [
            licence.get("expression")
            for part in bill["components"]
            if part["type"] == "machine-learning-model"
            for licence in part["licenses"]
        ]
        found[name] = next(iter(said), None)
    return found


def _renamed(answer: Any, name: str) -> Any:
    return {**answer, "model": name} if isinstance(answer, dict) and "model" in answer else answer


def _same(artifacts: dict[str, Artifact]) -> tuple[str, str]:
    """The architecture and the Python that all of them are for."""
    for name, artifact in artifacts.items():
        if "custom" in artifact.manifest:
            raise UsageError(f"{name!r} is code of one's own ({artifact.path}): such a function stands alone")
        if len(artifact.manifest["models"]) != 1:
            raise UsageError(f"{name!r} ({artifact.path}) holds several models itself: name those instead")
    arches = {name: str(one.manifest["arch"]) for name, one in artifacts.items()}
    if len(set(arches.values())) > 1:
        raise UsageError(
            f"models of one function run on one CPU, and were built for {_listed(arches)}: use one --arch"
        )
    pythons = {name: str(one.manifest["python"]) for name, one in artifacts.items()}
    needed = set(pythons.values()) - {"any"}
    if len(needed) > 1:
        raise UsageError(f"models of one function run on one Python, and they were built for {_listed(pythons)}")
    return next(iter(arches.values())), next(iter(needed), "any")


def _listed(said: dict[str, str]) -> str:
    return ", ".join(f"{value} ({name})" for name, value in said.items())


def _merge(artifact: Artifact, part: str, target: Path) -> None:
    """What functions have in common, once; a library that differs is of another coldpress."""
    source = artifact.function_folder / part
    for path in sorted(path for path in source.rglob("*") if path.is_file()):
        there = target / path.relative_to(source)
        if not there.exists():
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, there)
        elif part == "lib" and there.read_bytes() != path.read_bytes():
            raise UsageError(f"{path} is another version than the other models': build {artifact.path} again")


def _memory(folder: Path, spec: dict[str, Any]) -> int:
    """What the model takes when it is open, at most: its files, and what its engine has beside them."""
    size = folder_bytes(folder)
    if spec["engine"] != "press":
        return _TIMES * size + _BESIDE
    with TemporaryDirectory(prefix="coldpress-press-") as library:
        Path(library, LIBRARY).write_bytes(own_library("press", host_architecture()))
        session = Engine((library,)).open(str(folder), spec, _MOST_THREADS)
        own = session.memory
        session.close()
    return size + own
