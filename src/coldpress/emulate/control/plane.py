"""What the operations share: the functions on disk, those that run, and who is just being changed."""

import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from math import ceil
from random import Random

from coldpress.emulate.control import errors, names
from coldpress.emulate.control.calls import Said
from coldpress.emulate.control.code import MOST_CODE
from coldpress.emulate.control.configs import told
from coldpress.emulate.control.feeders import Feeders
from coldpress.emulate.control.fleets import Fleets
from coldpress.emulate.control.store import Function, Store


@dataclass
class Plane:
    store: Store
    fleets: Fleets
    #: seconds for which a new function is Pending and an update InProgress: who does not wait fails, as on Lambda
    settle: float = 0.1
    #: numbers from 0 to 1 that an alias's weights decide by
    draw: Callable[[], float] = field(default_factory=lambda: Random().random)  # noqa: S311 - routes, guards nothing
    most_code: int = MOST_CODE
    feeders: Feeders = field(init=False)
    _busy: dict[tuple[str, str], tuple[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.feeders = Feeders(self.store, self.fleets, self.route)

    def function(self, name: str, qualifier: str = "") -> Function:
        found = self.store.functions.get(name)
        if found is None:
            raise errors.not_found(f"Function not found: {names.arn(name, qualifier)}")
        return found

    def draft(self, name: str, qualifier: str = "") -> Function:
        """A copy to change: what could not be written to disk has not happened."""
        return deepcopy(self.function(name, qualifier))

    def version(self, function: Function, qualifier: str) -> str:
        """The version that a qualifier stands for, first of all; an alias may send some requests elsewhere."""
        if not qualifier or qualifier in function.versions:
            return qualifier or names.LATEST
        if qualifier in function.aliases:
            return str(function.aliases[qualifier]["FunctionVersion"])
        raise errors.not_found(f"Function not found: {names.arn(function.name, qualifier)}")

    def route(self, function: Function, qualifier: str) -> str:
        """The version that answers one request."""
        alias = function.aliases.get(qualifier)
        if alias is not None:
            weights = alias.get("RoutingConfig", {}).get("AdditionalVersionWeights", {})
            drawn = self.draw() if weights else 1.0
            for version, weight in weights.items():
                if drawn < weight:
                    return str(version)
        version = self.version(function, qualifier)
        if self.phase(function.name, version) == "Pending":
            raise errors.conflict(
                "The operation cannot be performed at this time. "
                "The function is currently in the following state: Pending"
            )
        return version

    # changes that take their time

    def begin(self, name: str, version: str, phase: str) -> None:
        self._busy[name, version] = (phase, time.monotonic() + self.settle)

    def check_idle(self, name: str) -> None:
        """Lambda makes one change after the other, and says so."""
        if self.phase(name, names.LATEST):
            raise errors.conflict(
                "The operation cannot be performed at this time. "
                f"An update is in progress for resource: {names.arn(name)}"
            )

    def forget(self, name: str) -> None:
        for key in [key for key in self._busy if key[0] == name]:
            del self._busy[key]

    def phase(self, name: str, version: str = "") -> str:
        """What is being done to a function's version, or to a mapping; empty when it is over."""
        phase, until = self._busy.get((name, version), ("", 0.0))
        if phase and time.monotonic() >= until:
            del self._busy[name, version]
            return ""
        return phase

    def status(self, name: str, version: str) -> Said:
        match self.phase(name, version):
            case "Pending":
                return {
                    "State": "Pending",
                    "StateReason": "The function is being created.",
                    "StateReasonCode": "Creating",
                }
            case "InProgress":
                return {
                    "State": "Active",
                    "LastUpdateStatus": "InProgress",
                    "LastUpdateStatusReason": "The function is being updated.",
                }
            case _:
                return {"State": "Active", "LastUpdateStatus": "Successful"}

    def told(self, function: Function, qualifier: str = "") -> Said:
        version = self.version(function, qualifier)
        return told(function.name, function.versions[version], qualifier, self.status(function.name, version))

    # sandboxes that are kept ready

    def provide(self, function: Function) -> None:
        """Bring what is started ahead in line with what was asked for."""
        self.fleets.share(function)
        wanted = needed(function)
        for version in function.versions:
            served = self.fleets.served.get((function.name, version))
            number = wanted.get(version, 0)
            if number or (served is not None and served.fleet.settings.provisioned):
                self.fleets.provide(function, version, number)


def needed(function: Function, qualifier: str | None = None) -> dict[str, int]:
    """By version, how many sandboxes its provisioned concurrency means; of one qualifier, or of all.

    Where an alias routes by weight, each of its versions gets its part, rounded up."""
    wanted: dict[str, int] = {}
    for one, config in function.provisioned.items():
        if qualifier not in (None, one):
            continue
        alias = function.aliases.get(one, {})
        weights: dict[str, float] = alias.get("RoutingConfig", {}).get("AdditionalVersionWeights", {})
        parts = {str(alias.get("FunctionVersion", one)): 1 - sum(weights.values()), **weights}
        for version, part in parts.items():
            if part > 0:
                number = ceil(round(config["requested"] * part, 6))
                wanted[version] = wanted.get(version, 0) + max(1, number)
    return wanted
