"""What is done with a function that is there: look at it, go back, take old versions away, take all of it away."""

from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from coldpress.deploy import removal
from coldpress.deploy.aws import Aws
from coldpress.deploy.canary import weigh
from coldpress.deploy.log import last_errors
from coldpress.deploy.parts import bucket, queue, role, scaling, url
from coldpress.deploy.parts.function import token_hash
from coldpress.deploy.plan import Deployment
from coldpress.deploy.spending import Spending, month_so_far
from coldpress.deploy.steps import CHANGE, Facts, Step
from coldpress.deploy.wanted import ALIAS, OURS, check_name
from coldpress.errors import DeployError, UsageError

_LONGEST = 300


@dataclass(frozen=True)
class Status:
    name: str
    memory_mb: int
    runtime: str
    state: str
    #: published ones, the oldest first
    versions: list[str]
    live: str | None
    #: versions that get a share of the traffic beside the live one
    weights: dict[str, float] = field(default_factory=dict)
    url: str | None = None
    auth: str | None = None
    provisioned: str | None = None
    #: that it gets messages of, in words
    queues: list[str] = field(default_factory=list)
    #: lines of its log, the newest last; and what this month has cost
    errors: list[str] = field(default_factory=list)
    spent: Spending | None = None


def status(aws: Aws, name: str, *, errors_since: float | None = None) -> Status:
    """With `errors_since`, seconds since 1970, also its last errors and this month's cost."""
    config = _config(aws, name)
    alias = aws.find("lambda", "get_alias", FunctionName=name, Name=ALIAS)
    live = {"FunctionName": name, "Qualifier": ALIAS}
    if alias:  # as its clients meet it, not as the next version will be
        config = aws.call("lambda", "get_function_configuration", **live)
    address = aws.find("lambda", "get_function_url_config", **live) if alias else None
    ready = aws.find("lambda", "get_provisioned_concurrency_config", **live) if alias else None
    kept = None
    if ready:
        kept = f"{ready.get('AvailableProvisionedConcurrentExecutions', 0)} of "
        kept += f"{ready['RequestedProvisionedConcurrentExecutions']} {ready['Status']}"
    return Status(
        name=name,
        memory_mb=int(config["MemorySize"]),
        runtime=str(config.get("Runtime", config.get("PackageType", ""))),
        state=str(config.get("State", "Active")),
        versions=_versions(aws, name),
        live=alias["FunctionVersion"] if alias else None,
        weights=((alias or {}).get("RoutingConfig") or {}).get("AdditionalVersionWeights") or {},
        url=address["FunctionUrl"] if address else None,
        auth=address["AuthType"] if address else None,
        provisioned=kept,
        queues=queue.told(aws, name) if alias else [],
        errors=[] if errors_since is None else _errors(aws, name, errors_since),
        spent=None if errors_since is None else _spent(aws, name, config),
    )


def _errors(aws: Aws, name: str, since: float) -> list[str]:
    """Who may deploy need not be allowed to read logs and metrics: the rest is told all the same."""
    try:
        found = last_errors(aws, name, since)
    except DeployError as error:
        return [f"not known: {error}"]
    return [f"{datetime.fromtimestamp(one.at, timezone.utc):%F %T} {one.text[:_LONGEST]}" for one in found]


def _spent(aws: Aws, name: str, config: dict[str, Any]) -> Spending:
    try:
        return month_so_far(aws, name, config)
    except DeployError as error:
        return Spending(0, 0.0, f"not known: {error}")


def rollback(aws: Aws, name: str, to: str | None = None) -> Deployment:
    """The alias, back to the version before the live one, or to a given one; what is live keeps existing. Where a
    canary is under way, back is the live version without it."""
    found = status(aws, name)
    if found.live is None:
        raise DeployError(f"{name} has no alias {ALIAS}: it was not deployed by coldpress")
    before = [version for version in found.versions if int(version) < int(found.live)]
    if to is None and not found.weights and not before:
        raise DeployError(f"version {found.live} of {name} is live, and there is none before it to go back to")
    target = to or (found.live if found.weights else before[-1])
    if target not in found.versions:
        raise UsageError(f"{name} has no version {target}; it has: {', '.join(found.versions)}")
    facts = Facts(version=target, url=found.url or "")
    if target == found.live and not found.weights:
        return Deployment([], facts)
    now, then = (
        aws.call("lambda", "get_function_configuration", FunctionName=name, Qualifier=version)
        for version in (found.live, target)
    )
    # the live version asks for a token, and the target for none
    unguarded = token_hash(now) is not None and token_hash(then) is None
    doors = url.closing(aws, name) if found.auth == "NONE" and unguarded else []
    ends = f"from version {found.live} to {target}" if target != found.live else f"all to version {target}"
    point = Step(CHANGE, f"alias {ALIAS}", ends, lambda: weigh(aws, name, target, {}))
    return Deployment([*doors, *role.again(aws, name, then), point], facts)


def prune(aws: Aws, name: str, keep: int) -> Deployment:
    """Old versions cost nothing by themselves, but code storage does end; snapshots and images are paid for."""
    if keep < 1:
        raise UsageError(f"--keep {keep} would leave nothing to go back to: 1 or more")
    found = status(aws, name)
    needed = {found.live, *found.weights, *found.versions[-keep:]}
    steps = [removal.version(aws, name, version) for version in found.versions if version not in needed]
    if found.runtime == "Image" and not aws.local:
        kept = [*(version for version in found.versions if version in needed), "$LATEST"]
        configs = [
            aws.call("lambda", "get_function_configuration", FunctionName=name, Qualifier=version)
            for version in kept
        ]
        steps += removal.old_images(aws, name, {str(config["CodeSha256"]) for config in configs})
    return Deployment(steps, Facts(version=found.live or ""))


def delete(aws: Aws, name: str) -> Deployment:
    """All that was made for it, found by its names: interrupted anywhere, running it again finishes it."""
    check_name(name)
    config = aws.find("lambda", "get_function_configuration", FunctionName=name)
    steps = []
    if config is not None:
        if OURS not in str(config.get("Description", "")):
            raise DeployError(f"{name} was not made by coldpress: delete it where it was made")
        found = status(aws, name)
        steps += [removal.url(aws, name, found.url)] if found.url else []
        policy = url.read_policy(aws.find("lambda", "get_policy", FunctionName=name, Qualifier=ALIAS))
        steps += bucket.ended(aws, name, policy) + queue.ended(aws, name) + scaling.ended(aws, name)
        steps.append(removal.function(aws, name, found.versions))
    else:
        steps += scaling.ended(aws, name)
    from coldpress.bulk import grants  # which is made of what deploy is made of

    steps += grants.ended(aws, name)
    steps += removal.repository(aws, name) + removal.uploads(aws, name)
    steps += removal.log(aws, name) + removal.role(aws, name)
    if not steps:
        raise _nobody(aws, name)
    return Deployment(steps, Facts())


def _config(aws: Aws, name: str) -> dict[str, Any]:
    check_name(name)
    found = aws.find("lambda", "get_function_configuration", FunctionName=name)
    if found is None:
        raise _nobody(aws, name)
    config: dict[str, Any] = found
    return config


def _nobody(aws: Aws, name: str) -> DeployError:
    return DeployError(f"there is no function {name} in {aws.region}: is it another region or account?")


def _versions(aws: Aws, name: str) -> list[str]:
    """Of all pages; $LATEST is none."""
    found: list[str] = []
    marker: dict[str, str] = {}
    while True:
        page = aws.call("lambda", "list_versions_by_function", FunctionName=name, **marker)
        found += [one["Version"] for one in page["Versions"] if one["Version"] != "$LATEST"]
        if not page.get("NextMarker"):
            return sorted(found, key=int)
        marker = {"Marker": page["NextMarker"]}
