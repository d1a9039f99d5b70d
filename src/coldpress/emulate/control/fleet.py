"""One version's sandboxes: a fleet whose limit is the whole function's, and whose provisioned ones come and go."""

from dataclasses import dataclass, field, replace

from coldpress.emulate.control.configs import VersionSettings
from coldpress.emulate.sandboxes.fleet import Done, Fleet, Throttled
from coldpress.emulate.sandboxes.invocation import Invocation
from coldpress.emulate.sandboxes.live import LiveSandbox
from coldpress.emulate.sandboxes.logbook import Logbook
from coldpress.emulate.world.namespaces import Starter

_AHEAD = "provisioned-concurrency"


@dataclass
class Share:
    """What all versions of one function may do at once."""

    limit: int
    reserved: bool = False
    fleets: "list[VersionFleet]" = field(default_factory=list)

    def check(self) -> None:
        if sum(fleet.under_way for fleet in self.fleets) >= self.limit:
            raise Throttled(
                "ReservedFunctionConcurrentInvocationLimitExceeded"
                if self.reserved
                else "ConcurrentInvocationLimitExceeded"
            )


class VersionLog(Logbook):
    """Says which version an invocation is of."""

    def __init__(self, as_json: bool, version: str) -> None:
        super().__init__(as_json)
        self._version = version

    def start(self, request_id: str) -> str:
        return super().start(request_id).replace("$LATEST", self._version)


class VersionFleet(Fleet):
    def __init__(self, settings: VersionSettings, starter: Starter, share: Share) -> None:
        super().__init__(settings, starter)
        self.log = VersionLog(settings.json_log, settings.version)
        self.version = settings.version
        self._share = share
        share.fleets.append(self)
        #: who took its place, when its code or configuration has changed
        self.successor: VersionFleet | None = None

    @property
    def under_way(self) -> int:
        return len(self._waiting)

    def submit(self, invocation: Invocation, done: Done) -> None:
        if self.successor is not None:  # an event that was accepted before the change, tried again after it
            self.successor.submit(invocation, done)
            return
        try:
            self._share.check()
        except Throttled as throttled:
            self.ledger.throttled(invocation)
            done(throttled)
            return
        super().submit(invocation, done)

    async def drain(self, patience: float) -> None:
        await super().drain(patience)
        if self in self._share.fleets:
            self._share.fleets.remove(self)

    # started ahead

    def provision(self, number: int) -> None:
        """Keep so many sandboxes ready from now on. What is too much ends, or goes on as an ordinary one."""
        if self._draining:  # deleted meanwhile
            return
        self.settings = replace(self.settings, provisioned=number)
        self._given_up = 0
        ahead = self._ahead()
        for sandbox in ahead[number:]:
            sandbox.kind = "on-demand"
            if not sandbox.busy and sandbox.name not in self._bound:
                if sandbox in self._free:
                    self._free.remove(sandbox)
                sandbox.shut_down("spindown")
        for _ in range(number - len(ahead)):
            try:
                self._launch(_AHEAD)
            except OSError as error:
                self._given_up += 1
                self.log.add("", f"a sandbox could not be started: {error}")

    @property
    def allocated(self) -> int:
        return len(self._ahead())

    @property
    def available(self) -> int:
        """Those that are through their init."""
        return sum(sandbox.served for sandbox in self._ahead())

    @property
    def gave_up(self) -> bool:
        return self._given_up > 0

    def _ahead(self) -> list[LiveSandbox]:
        return [one for one in self.sandboxes.values() if one.kind == _AHEAD and one.state != "ended"]
