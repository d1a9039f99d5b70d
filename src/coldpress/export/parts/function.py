"""The function, a version of it that never changes, and the alias that clients call."""

import hashlib
import json
from typing import Any

from coldpress.deploy.parts import code
from coldpress.deploy.parts.function import settings
from coldpress.deploy.steps import Facts
from coldpress.deploy.wanted import ALIAS, TOKEN, Wanted
from coldpress.export.parts.role import LOG, role_of
from coldpress.export.parts.scaling import ready_at_first
from coldpress.export.stack import (
    Digest,
    Joined,
    Of,
    Output,
    Param,
    Parameter,
    Part,
    Resource,
    leaves,
    present,
    tags,
)

FUNCTION, LIVE = "Function", "Live"
_SHA256 = "^[0-9a-f]{64}$"
_IMAGE = "^.+@sha256:[0-9a-f]{64}$"
_HASH_DIGITS = 10


def part(wanted: Wanted) -> Part:
    properties = _properties(wanted)
    version = _version(wanted, properties)
    at_once = None if wanted.concurrency is None else Param("ReservedConcurrency")
    function = Resource(
        FUNCTION,
        "AWS::Lambda::Function",
        present({**properties, "ReservedConcurrentExecutions": at_once, "Tags": tags(wanted.tags)}),
        "The function itself; nobody calls it by this name.",
        after=(LOG,),
    )
    ready = ready_at_first(wanted)
    live = {
        "FunctionName": Of(FUNCTION, "Name"),
        "FunctionVersion": Of(version.key, "Version"),
        "Name": ALIAS,
        "ProvisionedConcurrencyConfig": None if ready is None else {"ProvisionedConcurrentExecutions": ready},
    }
    alias = Resource(LIVE, "AWS::Lambda::Alias", present(live), "What clients call: it points to a version.")
    called = Output("LiveArn", "What clients invoke.", Of(LIVE))
    return Part((function, version, alias), tuple(_parameters(wanted)), outputs=(called,))


def _properties(wanted: Wanted) -> dict[str, Any]:
    """All that a version takes along."""
    made = settings(wanted, Facts(), None)
    variables = dict(made["Environment"]["Variables"])
    if wanted.url == "token":
        variables[TOKEN] = Param("TokenSha256")
    if wanted.image:
        package = {"PackageType": "Image", "Code": {"ImageUri": Param("ImageUri")}}
    else:
        package = {"Code": {"S3Bucket": Param("CodeBucket"), "S3Key": Param("CodeKey")}}
    known = {
        "Role": role_of(wanted),
        "Architectures": [wanted.architecture],
        "MemorySize": Param("MemorySize"),
        "Timeout": Param("Timeout"),
        "Environment": {"Variables": variables} if variables else None,
    }
    return present({"FunctionName": wanted.name, **package, **made, **known})


def _version(wanted: Wanted, properties: dict[str, Any]) -> Resource:
    """CloudFormation publishes one for each name and description that it has not seen. So the name stands for all
    that is written in the template, the description for what is said when deploying, and nothing else is in them:
    a version of a function that has not changed is refused."""
    sha256 = None if wanted.image else code.code_sha256(code.zip_bytes(wanted))
    fixed = json.dumps([properties, sha256], sort_keys=True, default=repr)
    said = [one for one in leaves(properties) if isinstance(one, Param) and not one.name.startswith("Code")]
    described: list[Any] = []
    for one in said:
        described += [", " if described else "", f"{one.name} ", Digest(one) if one.name == "ImageUri" else one]
    properties = {
        "FunctionName": Of(FUNCTION, "Name"),
        "CodeSha256": sha256,
        "Description": Joined(tuple(described)),
    }
    return Resource(
        f"Version{hashlib.sha256(fixed.encode()).hexdigest()[:_HASH_DIGITS]}",
        "AWS::Lambda::Version",
        present(properties),
        "Never changes. A change above publishes a new one, since its name or its description change too.",
        keep=True,
    )


def _parameters(wanted: Wanted) -> list[Parameter]:
    made = [
        Parameter("MemorySize", "MB of memory.", wanted.memory_mb, number=True, least=128, most=10240),
        Parameter("Timeout", "Seconds that a request may take.", wanted.timeout, number=True, least=1, most=900),
    ]
    if wanted.image:
        says = "The image with its digest, as coldpress push prints it."
        made.append(Parameter("ImageUri", says, pattern=_IMAGE))
    else:
        digest = hashlib.sha256(code.zip_bytes(wanted)).hexdigest()
        made.append(Parameter("CodeBucket", "The bucket that function.zip lies in; of the same region."))
        made.append(Parameter("CodeKey", "Where in the bucket it lies.", f"{wanted.name}/{digest}.zip"))
    if wanted.concurrency is not None:
        says = "Requests at once, at most."
        made.append(Parameter("ReservedConcurrency", says, wanted.concurrency, number=True, least=0))
    if wanted.url == "token":
        says = "The SHA-256 of the bearer token, in hex."
        made.append(Parameter("TokenSha256", says, pattern=_SHA256, secret=True))
    return made
