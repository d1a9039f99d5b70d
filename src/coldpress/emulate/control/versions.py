"""Versions: what $LATEST was when it was published; they never change."""

from coldpress.emulate.control import configs, errors, names
from coldpress.emulate.control.calls import Call, Said, page, text
from coldpress.emulate.control.plane import Plane
from coldpress.emulate.control.store import Function


def publish(plane: Plane, call: Call) -> Said:
    name, _ = call.target
    function = plane.draft(name)
    latest, body = function.versions[names.LATEST], call.body
    if (wanted := body.get("RevisionId")) and wanted != latest["RevisionId"]:
        raise errors.other_revision("GetFunction/GetAlias")
    if (sha := body.get("CodeSha256")) and sha != latest["CodeSha256"]:
        raise errors.invalid(
            f"CodeSHA256 ({sha}) is different from current CodeSHA256 in $LATEST ({latest['CodeSha256']}). "
            "Please try again with the CodeSHA256 in $LATEST."
        )
    description = text(body, "Description", 256) or ""
    plane.check_idle(name)
    if plane.store.code_size + latest["CodeSize"] > plane.most_code:
        raise errors.storage_full(plane.most_code)
    made = add(function, description)
    plane.store.save(function)
    return plane.told(function, made)


def add(function: Function, description: str) -> str:
    """A new version of what $LATEST is, unless the last one is the same."""
    latest = function.versions[names.LATEST]
    last = function.versions.get(str(function.published))
    if last is not None and configs.is_same(last, latest):
        return str(function.published)
    function.published += 1
    made = configs.stamped({**latest, "Version": str(function.published)})
    function.versions[made["Version"]] = {
        **made,
        "LastModified": latest["LastModified"],
        "Description": description or latest["Description"],
    }
    return str(made["Version"])


def list_of(plane: Plane, call: Call) -> Said:
    name, _ = call.target
    function = plane.function(name)
    shown, more = page(call, sorted(function.versions, key=rank), lambda version: f"{rank(version):012d}")
    return {
        "Versions": [configs.told(name, function.versions[version], version, {}) for version in shown],
        **more,
    }


def delete(plane: Plane, function: Function, qualifier: str) -> None:
    """One version; those that an alias leads to stay."""
    if qualifier == names.LATEST:
        raise errors.invalid("$LATEST version cannot be deleted without deleting the function.")
    if qualifier in function.aliases:
        raise errors.invalid(f"{qualifier} is an alias: delete it with DeleteAlias")
    if qualifier not in function.versions:
        return  # as Lambda: what is gone is gone
    led_here = sorted(
        name
        for name, alias in function.aliases.items()
        if qualifier == alias["FunctionVersion"]
        or qualifier in alias.get("RoutingConfig", {}).get("AdditionalVersionWeights", {})
    )
    if led_here:
        raise errors.conflict(
            f"Unable to delete version {qualifier}: aliases lead to it: {', '.join(led_here)}. "
            "Point them elsewhere first"
        )
    del function.versions[qualifier]
    for hanging in (function.provisioned, function.policies):
        hanging.pop(qualifier, None)
    plane.store.save(function)
    plane.fleets.drop(function.name, qualifier)
    plane.store.sweep()


def rank(version: str) -> int:
    """$LATEST first, then by number."""
    return 0 if version == names.LATEST else int(version)
