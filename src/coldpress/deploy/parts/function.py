"""The function itself: its code and its configuration, then a version of both that never changes."""

from typing import Any

from coldpress.deploy.aws import Aws
from coldpress.deploy.parts import code, image
from coldpress.deploy.parts.package import Package
from coldpress.deploy.steps import CHANGE, CREATE, Facts, Step, different, keep
from coldpress.deploy.wanted import OURS, TOKEN, Wanted

_HANDLER = "handler.lambda_handler"


def settings(wanted: Wanted, facts: Facts, token_sha256: str | None) -> dict[str, Any]:
    """As CreateFunction and UpdateFunctionConfiguration take it."""
    started = {} if wanted.image else {"Runtime": wanted.runtime, "Handler": _HANDLER}
    return {
        "Role": facts.role,
        **started,
        "MemorySize": wanted.memory_mb,
        "Timeout": wanted.timeout,
        "Environment": {"Variables": wanted.environment(token_sha256)},
        "EphemeralStorage": {"Size": wanted.tmp_mb},
        "SnapStart": {"ApplyOn": "PublishedVersions" if wanted.snapstart else "None"},
        "LoggingConfig": {"LogFormat": "JSON" if wanted.json_log else "Text"},
        "Description": f"{wanted.artifact.name}, {OURS}",
    }


def unlike(found: dict[str, Any], wants: dict[str, Any]) -> list[str]:
    """What of a configuration is not as wanted. AWS adds fields of its own, which do not count."""
    have = dict(found)
    have.setdefault("SnapStart", {"ApplyOn": "None"})
    have.setdefault("LoggingConfig", {"LogFormat": "Text"})
    have.setdefault("EphemeralStorage", {"Size": 512})
    have.setdefault("Environment", {"Variables": {}})
    for name in ("SnapStart", "LoggingConfig", "EphemeralStorage", "Environment"):
        have[name] = {key: have[name].get(key) for key in wants[name]}
    return different(have, wants)


def token_hash(found: dict[str, Any] | None) -> str | None:
    """The hash of the token that the function has already."""
    variables = ((found or {}).get("Environment") or {}).get("Variables") or {}
    kept = variables.get(TOKEN)
    return str(kept) if kept else None


def package_of(aws: Aws, wanted: Wanted, facts: Facts) -> Package:
    return image.package(aws, wanted, facts) if wanted.image else code.package(aws, wanted)


def tag_steps(aws: Aws, wanted: Wanted, whole: dict[str, Any] | None) -> list[Step]:
    """A new function gets them when it is made; others' tags stay."""
    have = (whole or {}).get("Tags") or {}
    missing = {key: value for key, value in wanted.tags.items() if have.get(key) != value}
    if whole is None or not missing:
        return []
    arn = whole["Configuration"]["FunctionArn"]
    act = lambda: aws.call("lambda", "tag_resource", Resource=arn, Tags=missing)  # noqa: E731
    return [Step(CHANGE, f"function {wanted.name}'s tags", ", ".join(missing), act)]


def steps(aws: Aws, wanted: Wanted, facts: Facts, found: dict[str, Any] | None, token: str | None) -> list[Step]:
    name = wanted.name
    what = f"function {name}"
    package = package_of(aws, wanted, facts)
    facts.code = package.code
    same_code = found is not None and found.get("CodeSha256") == facts.code
    # An image is read by Lambda again and again: its repository is looked at even where it is the same.
    before = package.steps() if wanted.image or not same_code else []
    wants = settings(wanted, facts, token)

    def create() -> None:
        aws.call(
            "lambda",
            "create_function",
            FunctionName=name,
            PackageType="Image" if wanted.image else "Zip",
            Code=package.named(),
            Architectures=[wanted.architecture],
            Tags=wanted.tags,
            **settings(wanted, facts, token),
        )
        aws.wait("lambda", "function_active_v2", FunctionName=name)

    def change_code() -> None:
        arch = [wanted.architecture]
        aws.call("lambda", "update_function_code", FunctionName=name, Architectures=arch, **package.named())
        aws.wait("lambda", "function_updated_v2", FunctionName=name)

    def change_settings() -> None:
        aws.call("lambda", "update_function_configuration", FunctionName=name, **settings(wanted, facts, token))
        aws.wait("lambda", "function_updated_v2", FunctionName=name)

    if found is None:
        runs = "image" if wanted.image else wanted.runtime
        detail = f"{package.megabytes:.1f} MB, {wanted.memory_mb:,} MB of memory, {wanted.architecture}, {runs}"
        return [*before, Step(CREATE, what, detail, create)]
    made = list(before)
    if not same_code:
        made.append(Step(CHANGE, f"{what}'s code", facts.code[:12], change_code))
    changed = unlike(found, wants) + (["its role is new"] if facts.role_is_new else [])
    if changed:
        made.append(Step(CHANGE, f"{what}'s settings", ", ".join(changed), change_settings))
    return made if any(step.writes for step in made) else [*made, keep(what)]
