"""Aliases: names that lead to a version, or to two of them by weight."""

from typing import Any
from uuid import uuid4

from coldpress.emulate.control import errors, names
from coldpress.emulate.control.calls import Call, Said, mapping, page, text
from coldpress.emulate.control.plane import Plane
from coldpress.emulate.control.store import Function


def create(plane: Plane, call: Call) -> Said:
    name, _ = call.target
    function = plane.draft(name)
    alias = names.new_alias(call.body.get("Name"))
    if alias in function.aliases:
        raise errors.conflict(f"Alias already exists: {names.arn(name, alias)}")
    version = _existing(function, call.body.get("FunctionVersion"))
    made = {"FunctionVersion": version, "Description": text(call.body, "Description") or ""}
    return _save(plane, function, alias, made, call.body)


def get(plane: Plane, call: Call) -> Said:
    name, _ = call.target
    function = plane.function(name)
    _known(function, call)
    return _told(function, call.path["Name"])


def update(plane: Plane, call: Call) -> Said:
    name, _ = call.target
    function, body = plane.draft(name), call.body
    alias = _known(function, call)
    if (wanted := body.get("RevisionId")) and wanted != alias["RevisionId"]:
        raise errors.other_revision("GetFunction/GetAlias")
    if body.get("FunctionVersion") is not None:
        alias["FunctionVersion"] = _existing(function, body["FunctionVersion"])
    if (description := text(body, "Description")) is not None:
        alias["Description"] = description
    return _save(plane, function, call.path["Name"], alias, body)


def delete(plane: Plane, call: Call) -> None:
    """With all that hangs on it; what is gone already is no error, as on Lambda."""
    name, _ = call.target
    function, alias = plane.draft(name), call.path["Name"]
    for hanging in (function.aliases, function.urls, function.provisioned, function.policies):
        hanging.pop(alias, None)
    plane.store.save(function)
    plane.provide(function)


def list_of(plane: Plane, call: Call) -> Said:
    name, _ = call.target
    function, version = plane.function(name), call.asked("FunctionVersion")
    listed = [
        one
        for one, alias in sorted(function.aliases.items())
        if version in ("", alias["FunctionVersion"], *_weights(alias))
    ]
    shown, more = page(call, listed, str)
    return {"Aliases": [_told(function, one) for one in shown], **more}


def _save(plane: Plane, function: Function, name: str, alias: dict[str, Any], body: Said) -> Said:
    if (routing := mapping(body, "RoutingConfig")) is not None:
        weights = _checked(function, mapping(routing, "AdditionalVersionWeights") or {})
        alias["RoutingConfig"] = {"AdditionalVersionWeights": weights}
    if alias["FunctionVersion"] in _weights(alias):
        raise errors.invalid(
            f"Invalid function version {alias['FunctionVersion']}. Function version {alias['FunctionVersion']} "
            "is already included in routing configuration."
        )
    if _weights(alias) and alias["FunctionVersion"] == names.LATEST:
        raise errors.invalid("$LATEST is not supported for an alias pointing to more than 1 version")
    alias["RevisionId"] = str(uuid4())
    function.aliases[name] = alias
    plane.store.save(function)
    plane.provide(function)
    return _told(function, name)


def _checked(function: Function, weights: Said) -> dict[str, float]:
    if len(weights) > 1:
        raise errors.invalid("Number of items in AdditionalVersionWeights cannot be greater than 1")
    for version, weight in weights.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1:
            raise errors.invalid(f"the weight of version {version} is {weight!r}: it must be from 0.0 to 1.0")
        if version == names.LATEST:
            raise errors.invalid("$LATEST is not supported for an alias pointing to more than 1 version")
        _existing(function, version)
    return {version: float(weight) for version, weight in weights.items()}


def _existing(function: Function, version: object) -> str:
    if not isinstance(version, str) or version not in function.versions:
        raise errors.not_found(f"Function not found: {names.arn(function.name, str(version))}")
    return version


def _known(function: Function, call: Call) -> dict[str, Any]:
    alias = call.path["Name"]
    if alias not in function.aliases:
        raise errors.not_found(f"Alias not found: {names.arn(function.name, alias)}")
    return function.aliases[alias]


def _weights(alias: dict[str, Any]) -> dict[str, float]:
    found: dict[str, float] = alias.get("RoutingConfig", {}).get("AdditionalVersionWeights", {})
    return found


def _told(function: Function, name: str) -> Said:
    alias = function.aliases[name]
    shown = {"AliasArn": names.arn(function.name, name), "Name": name, **alias}
    if not _weights(alias):
        shown.pop("RoutingConfig", None)
    return shown
