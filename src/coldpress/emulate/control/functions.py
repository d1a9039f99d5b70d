"""Functions: made, changed, told, listed, deleted."""

import asyncio
from typing import Any

from coldpress.emulate.control import configs, errors, names, versions
from coldpress.emulate.control.calls import Call, Said, page
from coldpress.emulate.control.code import Code, describe, unpack, zip_of
from coldpress.emulate.control.plane import Plane
from coldpress.emulate.control.store import Config, Function
from coldpress.emulate.control.tags import checked_tags


async def create(plane: Plane, call: Call) -> Said:
    body = call.body
    said = body.get("FunctionName")
    name = names.new_name(said if isinstance(said, str) else "")
    config = configs.new(name, body)
    tags = checked_tags(body.get("Tags") or {})
    _must_be_new(plane, name)
    data, code = await asyncio.to_thread(_sent, body.get("Code"))
    with plane.store.holding(code.digest):
        await asyncio.to_thread(unpack, data, code, plane.store)
        _must_be_new(plane, name)
        _must_fit(plane, code)
        config |= {"CodeSha256": code.sha256, "CodeSize": code.size}
        function = Function(name, {names.LATEST: config}, tags=tags)
        if body.get("Publish") is True:
            versions.add(function, "")
        plane.store.save(function)
    for version in function.versions:
        plane.begin(name, version, "Pending")
    return plane.told(function, str(function.published) if function.published else "")


def get(plane: Plane, call: Call) -> Said:
    name, qualifier = call.target
    function = plane.function(name, qualifier)
    told: Said = {"Configuration": plane.told(function, qualifier), "Code": {"RepositoryType": "S3"}}
    if function.tags:
        told["Tags"] = function.tags
    if function.reserved is not None:
        told["Concurrency"] = {"ReservedConcurrentExecutions": function.reserved}
    return told


def get_configuration(plane: Plane, call: Call) -> Said:
    name, qualifier = call.target
    return plane.told(plane.function(name, qualifier), qualifier)


async def update_code(plane: Plane, call: Call) -> Said:
    name, body = _latest(call), call.body
    function = plane.function(name)
    _must_match(function, body)
    plane.check_idle(name)
    architectures = configs.architectures_of(body) if body.get("Architectures") else None
    data, code = await asyncio.to_thread(_sent, body)
    with plane.store.holding(code.digest):
        await asyncio.to_thread(unpack, data, code, plane.store)
        function = plane.draft(name)  # of now: unpacking took its time
        _must_match(function, body)
        plane.check_idle(name)
        _must_fit(plane, code)
        config = {**function.versions[names.LATEST], "CodeSha256": code.sha256, "CodeSize": code.size}
        if architectures:
            config["Architectures"] = architectures
        if body.get("DryRun") is True:
            return configs.told(name, config, "", plane.status(name, names.LATEST))
        return _change(plane, function, config, body.get("Publish") is True)


def update_configuration(plane: Plane, call: Call) -> Said:
    name, body = _latest(call), call.body
    function = plane.draft(name)
    _must_match(function, body)
    said = configs.said_in(body)
    plane.check_idle(name)
    config = {**function.versions[names.LATEST], **said}
    config["LoggingConfig"] = {"LogGroup": f"/aws/lambda/{name}", **config["LoggingConfig"]}
    return _change(plane, function, config)


def delete(plane: Plane, call: Call) -> None:
    name, qualifier = call.target
    function = plane.draft(name, qualifier)
    if qualifier:
        versions.delete(plane, function, qualifier)
        return
    plane.store.remove(name)
    plane.fleets.drop(name)
    plane.forget(name)
    plane.store.sweep()


def list_all(plane: Plane, call: Call) -> Said:
    every = call.asked("FunctionVersion")
    if every not in ("", "ALL"):
        raise errors.invalid(f"FunctionVersion is {every!r}: it can be ALL")
    listed = [
        (function, version)
        for _, function in sorted(plane.store.functions.items())
        for version in (function.versions if every else (names.LATEST,))
    ]
    shown, more = page(call, listed, lambda one: f"{one[0].name}:{versions.rank(one[1]):012d}")
    return {"Functions": [brief(plane, function, version) for function, version in shown], **more}


def brief(plane: Plane, function: Function, version: str) -> Said:
    """As lists have it: with the version in the ARN, and without the state."""
    return configs.told(function.name, function.versions[version], version, {})


def account(plane: Plane, call: Call) -> Said:
    from coldpress.emulate.control.code import LARGEST_UNPACKED, LARGEST_ZIP
    from coldpress.emulate.control.fleets import MOST_AT_ONCE

    reserved = sum(function.reserved or 0 for function in plane.store.functions.values())
    return {
        "AccountLimit": {
            "TotalCodeSize": plane.most_code,
            "CodeSizeUnzipped": LARGEST_UNPACKED,
            "CodeSizeZipped": LARGEST_ZIP,
            "ConcurrentExecutions": MOST_AT_ONCE,
            "UnreservedConcurrentExecutions": MOST_AT_ONCE - reserved,
        },
        "AccountUsage": {"TotalCodeSize": plane.store.code_size, "FunctionCount": len(plane.store.functions)},
    }


def _change(plane: Plane, function: Function, config: Config, publish: bool = False) -> Said:
    """$LATEST becomes this, on disk and then in what runs."""
    config = configs.stamped(config)
    function.versions[names.LATEST] = config
    made = versions.add(function, "") if publish else ""
    plane.store.save(function)
    plane.fleets.renew(function, names.LATEST)
    plane.begin(function.name, names.LATEST, "InProgress")
    plane.store.sweep()
    return plane.told(function, made)


def _sent(said: Any) -> tuple[bytes, Code]:
    data = zip_of(said)
    return data, describe(data)


def _latest(call: Call) -> str:
    """What is changed is always $LATEST."""
    name, qualifier = call.target
    if qualifier not in ("", names.LATEST):
        raise errors.invalid(f"{qualifier} cannot be changed: only $LATEST can, and then be published")
    return name


def _must_be_new(plane: Plane, name: str) -> None:
    if name in plane.store.functions:
        raise errors.conflict(f"Function already exist: {name}")


def _must_match(function: Function, body: Said) -> None:
    wanted = body.get("RevisionId")
    if wanted and wanted != function.versions[names.LATEST]["RevisionId"]:
        raise errors.other_revision("GetFunction/GetAlias")


def _must_fit(plane: Plane, code: Code) -> None:
    if plane.store.code_size + code.size > plane.most_code:
        raise errors.storage_full(plane.most_code)
