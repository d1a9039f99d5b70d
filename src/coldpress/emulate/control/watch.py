"""What the functions here do, for those who watch: what runs, what was asked, what was written."""

import math
from typing import Any

from coldpress.emulate.control import errors
from coldpress.emulate.control.plane import Plane

Query = dict[str, list[str]]


def answer(plane: Plane, path: str, query: Query) -> dict[str, Any]:
    """/_/ is the state of all; /_/requests and /_/log are one function's, from a time on."""
    match path:
        case "/_/" | "/_/status":
            return _state(plane)
        case "/_/requests":
            return {"requests": _requests(plane, query)}
        case "/_/log":
            return {"lines": _log(plane, query)}
    raise errors.not_found(f"there is nothing at {path[:80]!r}; there is: /_/, /_/requests, /_/log")


def _state(plane: Plane) -> dict[str, Any]:
    running = [
        {
            "function": name,
            "version": version,
            "provisioned": served.fleet.settings.provisioned,
            "sandboxes": [sandbox.facts() for sandbox in served.fleet.sandboxes.values()],
            "totals": served.fleet.ledger.sums(),
        }
        for (name, version), served in plane.fleets.served.items()
    ]
    return {"functions": sorted(plane.store.functions), "running": running}


def _requests(plane: Plane, query: Query) -> list[dict[str, Any]]:
    name, since = _asked(plane, query)
    version = _one(query, "version", "")
    return [
        {"version": runs, **record}
        for (function, runs), served in plane.fleets.served.items()
        if function == name and version in ("", runs)
        for record in served.fleet.ledger.requests
        if record["at"] >= since
    ]


def _log(plane: Plane, query: Query) -> list[dict[str, Any]]:
    name, since = _asked(plane, query)
    kept = plane.fleets.logs.get(name, ())
    return [{"at": entry.at, "stream": entry.sandbox, "line": entry.line} for entry in kept if entry.at >= since]


def _asked(plane: Plane, query: Query) -> tuple[str, float]:
    name = plane.function(_one(query, "function", "")).name
    said = _one(query, "since", "0")
    try:
        since = float(said)
    except ValueError:
        since = math.nan
    if not math.isfinite(since):
        raise errors.invalid(f"since={said[:40]!r} is no time: seconds since 1970")
    return name, since


def _one(query: Query, name: str, otherwise: str) -> str:
    return query.get(name, [otherwise])[-1]
