"""The alias `live`: what clients call. It points to a version, which never changes."""

from typing import Any

from coldpress.deploy.aws import Aws
from coldpress.deploy.canary import try_out, weigh
from coldpress.deploy.parts.function import unlike
from coldpress.deploy.rollout import check_version, samples
from coldpress.deploy.steps import CHANGE, CHECK, CREATE, Facts, Step, keep
from coldpress.deploy.wanted import ALIAS, Wanted


def read(aws: Aws, name: str) -> dict[str, Any] | None:
    found: dict[str, Any] | None = aws.find("lambda", "get_alias", FunctionName=name, Name=ALIAS)
    return found


def arn(aws: Aws, name: str) -> str:
    """Whom queues and buckets are told to bring their work to."""
    return f"arn:{aws.partition}:lambda:{aws.region}:{aws.account}:function:{name}:{ALIAS}"


def steps(
    aws: Aws, wanted: Wanted, facts: Facts, wants: dict[str, Any], alias: dict[str, Any] | None, *, changes: bool
) -> list[Step]:
    """A version of what the function is now, and the alias on it."""
    name = wanted.name
    if alias is not None and not changes and _is(aws, name, alias["FunctionVersion"], facts, wants):
        facts.version = alias["FunctionVersion"]
        if not _weights(alias):
            return [keep(f"alias {ALIAS}", f"version {facts.version}")]

    def publish() -> None:
        made = aws.call("lambda", "publish_version", FunctionName=name, CodeSha256=facts.code)
        facts.version = made["Version"]
        aws.wait("lambda", "published_version_active", FunctionName=name, Qualifier=facts.version)

    def point() -> None:
        if alias is None:
            aws.call("lambda", "create_alias", FunctionName=name, Name=ALIAS, FunctionVersion=facts.version)
        else:
            weigh(aws, name, facts.version, {})

    def check() -> None:
        check_version(aws, name, facts.version, wanted.artifact)

    def canary() -> None:
        assert alias is not None and wanted.canary is not None
        live = alias["FunctionVersion"]
        if facts.version != live:
            _, seen = try_out(aws, name, live, facts.version, wanted.canary, facts.say)
            harmless = f"the canary did no harm in {seen.requests:,} requests"
            facts.say(harmless if seen.requests else "nobody asked the canary: no traffic has tried it")

    asked = len(samples(wanted.artifact)) if wanted.check else 0
    verb = CREATE if alias is None else CHANGE
    before = "" if alias is None else f"from version {alias['FunctionVersion']} "
    return [
        Step(CREATE, f"version of {name}", "", publish),
        *([Step(CHECK, "its answers", f"{asked} samples of the manifest", check)] if asked else []),
        *([Step(CHECK, "as a canary", str(wanted.canary), canary)] if alias and wanted.canary else []),
        Step(verb, f"alias {ALIAS}", f"{before}to the new version", point),
    ]


def _is(aws: Aws, name: str, version: str, facts: Facts, wants: dict[str, Any]) -> bool:
    found = aws.find("lambda", "get_function_configuration", FunctionName=name, Qualifier=version)
    return found is not None and found.get("CodeSha256") == facts.code and not unlike(found, wants)


def _weights(alias: dict[str, Any]) -> dict[str, float]:
    return (alias.get("RoutingConfig") or {}).get("AdditionalVersionWeights") or {}
