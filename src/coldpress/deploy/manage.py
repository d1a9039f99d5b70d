"""What is done with a function that is there: look at it, go back, take old versions away, take all of it away."""

from dataclasses import dataclass, field
from typing import Any

from coldpress.deploy.aws import Aws
from coldpress.deploy.canary import weigh
from coldpress.deploy.parts.role import POLICY
from coldpress.deploy.plan import Deployment
from coldpress.deploy.steps import CHANGE, DELETE, Facts, Step
from coldpress.deploy.wanted import ALIAS
from coldpress.errors import DeployError, UsageError

#: what the role's name begins with when it was made here
_OURS = "coldpress-"


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


def status(aws: Aws, name: str) -> Status:
    config = _config(aws, name)
    alias = aws.find("lambda", "get_alias", FunctionName=name, Name=ALIAS)
    live = {"FunctionName": name, "Qualifier": ALIAS}
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
    )


def rollback(aws: Aws, name: str, to: str | None = None) -> Deployment:
    """The alias, back to the version before the live one, or to a given one; what is live keeps existing."""
    found = status(aws, name)
    if found.live is None:
        raise DeployError(f"{name} has no alias {ALIAS}: it was not deployed by coldpress")
    before = [version for version in found.versions if int(version) < int(found.live)]
    if to is None and not before:
        raise DeployError(f"version {found.live} of {name} is live, and there is none before it to go back to")
    target = to or before[-1]
    if target not in found.versions:
        raise UsageError(f"{name} has no version {target}; it has: {', '.join(found.versions)}")
    facts = Facts(version=target, url=found.url or "")
    if target == found.live and not found.weights:
        return Deployment([], facts)

    words = f"from version {found.live} to {target}"
    point = Step(CHANGE, f"alias {ALIAS}", words, lambda: weigh(aws, name, target, {}))
    return Deployment([point], facts)


def prune(aws: Aws, name: str, keep: int) -> Deployment:
    """Old versions cost nothing by themselves, but code storage does end, and SnapStart's are paid for."""
    if keep < 1:
        raise UsageError(f"--keep {keep} would leave nothing to go back to: 1 or more")
    found = status(aws, name)
    needed = {found.live, *found.weights, *found.versions[-keep:]}
    old = [version for version in found.versions if version not in needed]
    return Deployment([_without_version(aws, name, version) for version in old], Facts(version=found.live or ""))


def delete(aws: Aws, name: str) -> Deployment:
    """All of it: URL, alias, versions, function, log, and the role if it was made for it."""
    config = _config(aws, name)
    found = status(aws, name)
    steps = []
    if found.url:
        steps.append(
            Step(
                DELETE,
                "URL",
                found.url,
                lambda: aws.call("lambda", "delete_function_url_config", FunctionName=name, Qualifier=ALIAS),
            )
        )
    versions = f"{len(found.versions)} versions" if found.versions else "no version"
    steps.append(
        Step(
            DELETE, f"function {name}", versions, lambda: aws.call("lambda", "delete_function", FunctionName=name)
        )
    )
    return Deployment(steps + _without_log(aws, name) + _without_role(aws, config), Facts())


def _without_version(aws: Aws, name: str, version: str) -> Step:
    return Step(
        DELETE,
        f"version {version} of {name}",
        "",
        lambda: aws.call("lambda", "delete_function", FunctionName=name, Qualifier=version),
    )


def _without_log(aws: Aws, name: str) -> list[Step]:
    group = f"/aws/lambda/{name}"
    if aws.local:
        return []
    found = aws.call("logs", "describe_log_groups", logGroupNamePrefix=group)["logGroups"]
    if not any(one["logGroupName"] == group for one in found):
        return []
    return [Step(DELETE, f"log {group}", "", lambda: aws.call("logs", "delete_log_group", logGroupName=group))]


def _without_role(aws: Aws, config: dict[str, Any]) -> list[Step]:
    role = str(config["Role"]).rpartition("/")[2]
    if aws.local or role != f"{_OURS}{config['FunctionName']}"[:64]:
        return []

    def act() -> None:
        if aws.find("iam", "get_role_policy", RoleName=role, PolicyName=POLICY) is not None:
            aws.call("iam", "delete_role_policy", RoleName=role, PolicyName=POLICY)
        aws.call("iam", "delete_role", RoleName=role)

    return [Step(DELETE, f"role {role}", "", act)]


def _config(aws: Aws, name: str) -> dict[str, Any]:
    found = aws.find("lambda", "get_function_configuration", FunctionName=name)
    if found is None:
        raise DeployError(f"there is no function {name} in {aws.region}: is it another region or account?")
    config: dict[str, Any] = found
    return config


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
