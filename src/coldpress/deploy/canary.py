"""A canary: a new version gets a share of the traffic for a while, and goes back by itself if it does harm."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from coldpress.deploy.aws import Aws
from coldpress.deploy.health import LATE, Health, read_health
from coldpress.deploy.options import seconds
from coldpress.deploy.wanted import ALIAS
from coldpress.errors import DeployError, UsageError

#: of its requests that may fail beyond what the live version's do
MORE_ERRORS = 0.01
#: how much slower than the live version its slow requests may be, and by how many milliseconds
SLOWER, SLOWER_MS = 1.5, 20.0
#: requests of both that are needed before slowness is judged: the first ones are cold
ENOUGH = 30
#: seconds between two looks
_EVERY, _EVERY_LOCAL = 15.0, 0.25
_SHARE = re.compile(r"(\d{1,2}(?:\.\d{1,2})?)%")


class Overtaken(DeployError):
    """Somebody went back, or further, meanwhile."""


@dataclass(frozen=True)
class Canary:
    share: float
    seconds: float

    @classmethod
    def parse(cls, share: str, time: str) -> "Canary":
        """As 10% and 5m."""
        part = _SHARE.fullmatch(share)
        if not part or not 0 < float(part[1]) < 100:
            raise UsageError(f"--canary {share!r} is not a share of the traffic, as 10%")
        return cls(float(part[1]) / 100, seconds("--for", time))

    def __str__(self) -> str:
        minutes, seconds = divmod(self.seconds, 60)
        lasts = f"{self.seconds:.0f} seconds" if seconds else f"{minutes:.0f} minutes"
        return f"{self.share * 100:.4g} % of the traffic for {lasts}"


def weigh(aws: Aws, name: str, version: str, weights: dict[str, float]) -> None:
    """Point the alias to a version, and a share of the traffic elsewhere."""
    aws.call(
        "lambda",
        "update_alias",
        FunctionName=name,
        Name=ALIAS,
        FunctionVersion=version,
        RoutingConfig={"AdditionalVersionWeights": weights},
    )


def try_out(
    aws: Aws,
    name: str,
    live: str,
    new: str,
    canary: Canary,
    told: Callable[[str], None] = lambda words: None,
) -> tuple[Health, Health]:
    """Give `new` its share and watch; whatever goes wrong, also here, all traffic is the live version's again."""
    began = aws.clock()
    try:
        weigh(aws, name, live, {new: canary.share})
        return _watch(aws, name, (live, new), canary, began, told)
    except Overtaken:
        raise
    except BaseException as problem:
        try:
            weigh(aws, name, live, {})
        except DeployError as second:
            raise DeployError(
                f"{problem}. And going back failed: {second}. Version {new} of {name} still has "
                f"{canary.share:.4%} of the traffic; end that with: coldpress rollback {name} --to {live}"
            ) from problem
        raise


def _watch(
    aws: Aws,
    name: str,
    versions: tuple[str, str],
    canary: Canary,
    began: float,
    told: Callable[[str], None],
) -> tuple[Health, Health]:
    every, late = (_EVERY_LOCAL, 0.0) if aws.local else (_EVERY, LATE)
    live, new = versions
    end = began + canary.seconds + late
    seen: Health | None = None
    while True:
        left = end - aws.clock()
        aws.pause(max(0.0, min(every, left)))
        _check_alias(aws, name, live, {new: canary.share})
        before, after = read_health(aws, name, versions, began)
        if after != seen:
            told(
                f"version {new}: {after.requests:,} requests, {after.errors:,} failed; {max(0.0, left):.0f} s left"
            )
        seen = after
        problem = harm(before, after)
        if problem:
            raise DeployError(
                f"version {new} of {name} went back, and version {live} has all the traffic again: {problem}. "
                f"Look at: coldpress logs {name}"
            )
        if left <= every:
            return before, after


def _check_alias(aws: Aws, name: str, live: str, weights: dict[str, float]) -> None:
    found = aws.call("lambda", "get_alias", FunctionName=name, Name=ALIAS)
    routing = (found.get("RoutingConfig") or {}).get("AdditionalVersionWeights") or {}
    if found["FunctionVersion"] != live or routing != weights:
        raise Overtaken(
            f"somebody else has changed the alias {ALIAS} of {name} during its canary; it was left as they want it"
        )


def harm(live: Health, new: Health) -> str:
    """What the new version does worse than it may; empty where it does not."""
    if new.error_share > live.error_share + MORE_ERRORS:
        return (
            f"{new.errors} of its {new.requests} requests failed ({new.error_share:.1%}), of the live version's "
            f"{live.error_share:.1%}; {MORE_ERRORS:.0%} more are let pass"
        )
    if min(live.requests, new.requests) >= ENOUGH and live.p95_ms is not None and new.p95_ms is not None:
        most = max(live.p95_ms * SLOWER, live.p95_ms + SLOWER_MS)
        if new.p95_ms > most:
            now, before = f"{new.p95_ms:.0f} ms", f"{live.p95_ms:.0f} ms"
            return f"its p95 is {now}, the live version's {before}; {most:.0f} ms are let pass"
    return ""
