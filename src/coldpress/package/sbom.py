"""A software bill of materials, CycloneDX 1.6: every wheel, library and model file with version, hash, licence.

The same function has the same bill: no clock, and a serial number that is made of the content.
"""

import json
import uuid
from pathlib import Path
from typing import Any

from coldpress.package.licences import licence_of
from coldpress.version import __version__

_SPACE = uuid.UUID("6f1c3b7e-4f6e-5d7e-9a3c-0c0f6c1d9e55")
_MODELS = "models/"


def write_sbom(target: Path, manifest: dict[str, Any], licences: dict[str, str | None]) -> None:
    """From what the manifest says. `licences` has those of the models, where their cards name one."""
    hashes = {
        name.removeprefix("function/"): digest
        for name, digest in manifest["files"].items()
        if name.startswith("function/")
    }
    required = manifest.get("custom", {}).get("requirements", [])
    wheels = manifest["versions"] | {wheel["name"]: wheel["version"] for wheel in required}
    components = [
        _package("coldpress", manifest["coldpress"]),
        *(_package(name, version) for name, version in sorted(wheels.items())),
        *(_model(name, model, hashes, licences.get(name), manifest) for name, model in manifest["models"].items()),
        *(_file(name, digest) for name, digest in sorted(hashes.items()) if _listed(name)),
    ]
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {"type": "application", "name": manifest["name"], "bom-ref": "function"},
            "tools": {"components": [{"type": "application", "name": "coldpress", "version": __version__}]},
        },
        "components": components,
        "dependencies": [{"ref": "function", "dependsOn": [one["bom-ref"] for one in components]}],
    }
    serial = uuid.uuid5(_SPACE, json.dumps(content, sort_keys=True))
    content = {"serialNumber": f"urn:uuid:{serial}", **content}
    target.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _listed(name: str) -> bool:
    """Libraries and a person's own code; the runtime's files are coldpress itself, and wheels stand for theirs."""
    return name.startswith(("lib/", "code/")) and not name.startswith("lib/python/")


def _package(name: str, version: str) -> dict[str, Any]:
    purl = f"pkg:pypi/{name.lower().replace('_', '-')}@{version.replace('+', '%2B')}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        **_licensed("Apache-2.0" if name == "coldpress" else licence_of(name)),
    }


def _model(
    name: str, model: dict[str, Any], hashes: dict[str, str], licence: str | None, manifest: dict[str, Any]
) -> dict[str, Any]:
    inside = f"{_MODELS}{manifest['name']}/" if "custom" in manifest else f"{_MODELS}{name}/"
    sources = [_file(f"source/{file}", digest) for file, digest in sorted(model["source_files"].items())]
    return {
        "type": "machine-learning-model",
        "bom-ref": f"model:{name}",
        "name": name,
        "version": str(model["origin"]).partition("@")[2] or "as its files hash",
        "description": f"{model['architecture']} for {model['task']}, from {model['origin']}",
        **_licensed(licence),
        "components": [
            *(_file(file, digest) for file, digest in sorted(hashes.items()) if file.startswith(inside)),
            *({**one, "bom-ref": f"{name}:{one['bom-ref']}"} for one in sources),
        ],
    }


def _file(name: str, digest: str) -> dict[str, Any]:
    return {
        "type": "file",
        "bom-ref": f"file:{name}",
        "name": name,
        "hashes": [{"alg": "SHA-256", "content": digest}],
    }


def _licensed(licence: str | None) -> dict[str, Any]:
    """A single identifier, an expression of several, or a name in somebody's own words."""
    if licence is None:
        return {"licenses": [{"license": {"name": "not stated"}}]}
    if " " not in licence or any(word in licence for word in (" AND ", " OR ", " WITH ")):
        return {"licenses": [{"expression": licence}]}
    return {"licenses": [{"license": {"name": licence}}]}
