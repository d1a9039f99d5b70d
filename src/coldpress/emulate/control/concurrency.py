"""How much of a function may run at once, and how much of it is kept ready."""

from coldpress.emulate.control import errors, names
from coldpress.emulate.control.calls import Call, Said, now, page, whole
from coldpress.emulate.control.fleets import MOST_AT_ONCE, UNRESERVED
from coldpress.emulate.control.plane import Plane, needed
from coldpress.emulate.control.store import Function


def put_reserved(plane: Plane, call: Call) -> Said:
    name, _ = call.target
    function = plane.draft(name)
    wanted = whole(call.body, "ReservedConcurrentExecutions", 0, MOST_AT_ONCE)
    if wanted is None:
        raise errors.invalid("ReservedConcurrentExecutions is missing")
    others = sum(one.reserved or 0 for one in plane.store.functions.values() if one.name != name)
    if MOST_AT_ONCE - others - wanted < UNRESERVED:
        raise errors.invalid(
            f"Specified ReservedConcurrentExecutions for function decreases account's "
            f"UnreservedConcurrentExecution below its minimum value of [{UNRESERVED}]."
        )
    ahead = sum(int(one["requested"]) for one in function.provisioned.values())
    if wanted < ahead:
        raise errors.invalid(
            f"ReservedConcurrentExecutions {wanted} is less than the {ahead} that are provisioned"
        )
    function.reserved = wanted
    _save(plane, function)
    return {"ReservedConcurrentExecutions": wanted}


def get_reserved(plane: Plane, call: Call) -> Said:
    function = plane.function(call.target[0])
    return {} if function.reserved is None else {"ReservedConcurrentExecutions": function.reserved}


def delete_reserved(plane: Plane, call: Call) -> None:
    function = plane.draft(call.target[0])
    function.reserved = None
    _save(plane, function)


def put_provisioned(plane: Plane, call: Call) -> Said:
    name, qualifier = call.target
    function = plane.draft(name, qualifier)
    _provisionable(plane, function, qualifier)
    wanted = whole(call.body, "ProvisionedConcurrentExecutions", 1, MOST_AT_ONCE)
    if wanted is None:
        raise errors.invalid("ProvisionedConcurrentExecutions is missing")
    others = sum(int(one["requested"]) for key, one in function.provisioned.items() if key != qualifier)
    if function.reserved is not None and wanted + others > function.reserved:
        raise errors.invalid(
            "Requested Provisioned Concurrency should not be greater than the "
            f"reservedConcurrentExecution for function: {function.reserved}"
        )
    function.provisioned[qualifier] = {"requested": wanted, "modified": now()}
    plane.store.save(function)
    plane.provide(function)
    return _told(plane, function, qualifier)


def get_provisioned(plane: Plane, call: Call) -> Said:
    name, qualifier = call.target
    function = plane.function(name, qualifier)
    plane.version(function, qualifier)
    if qualifier not in function.provisioned:
        raise errors.no_provisioned(qualifier or names.LATEST)
    return _told(plane, function, qualifier)


def delete_provisioned(plane: Plane, call: Call) -> None:
    name, qualifier = call.target
    function = plane.draft(name, qualifier)
    plane.version(function, qualifier)
    if function.provisioned.pop(qualifier, None) is not None:
        plane.store.save(function)
        plane.provide(function)


def list_provisioned(plane: Plane, call: Call) -> Said:
    name, _ = call.target
    function = plane.function(name)
    shown, more = page(call, sorted(function.provisioned), str)
    listed = [{"FunctionArn": names.arn(name, one), **_told(plane, function, one)} for one in shown]
    return {"ProvisionedConcurrencyConfigs": listed, **more}


def _save(plane: Plane, function: Function) -> None:
    plane.store.save(function)
    plane.fleets.share(function)


def _provisionable(plane: Plane, function: Function, qualifier: str) -> None:
    version = plane.version(function, qualifier)
    if version == names.LATEST:
        raise errors.invalid("Provisioned Concurrency Configs cannot be applied to unpublished function versions.")
    if function.versions[version]["SnapStart"]["ApplyOn"] == "PublishedVersions":
        raise errors.invalid("Provisioned Concurrency is not supported for functions with SnapStart")
    taken = [one for one in function.provisioned if one != qualifier and version in needed(function, one)]
    if taken:
        raise errors.invalid(
            f"version {version} has provisioned concurrency already, by {', '.join(taken)}: delete that first"
        )


def _told(plane: Plane, function: Function, qualifier: str) -> Said:
    config, wanted = function.provisioned[qualifier], needed(function, qualifier)
    requested = int(config["requested"])
    allocated = available = 0
    failed, ready = False, True
    for version, number in wanted.items():
        served = plane.fleets.served.get((function.name, version))
        there = served.fleet.available if served else 0
        available += there
        allocated += served.fleet.allocated if served else 0
        failed = failed or (served is not None and served.fleet.gave_up and there < number)
        ready = ready and there >= number
    told: Said = {
        "RequestedProvisionedConcurrentExecutions": requested,
        "AllocatedProvisionedConcurrentExecutions": requested if ready else min(requested, allocated),
        "AvailableProvisionedConcurrentExecutions": requested if ready else min(requested, available),
        "Status": "READY" if ready else "FAILED" if failed else "IN_PROGRESS",
        "LastModified": config["modified"],
    }
    if told["Status"] == "FAILED":
        told["StatusReason"] = "FUNCTION_ERROR_INIT_FAILURE"
    return told
