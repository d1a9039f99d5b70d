"""A version's configuration: what may be said of it, and what is told."""

import re
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from coldpress.emulate.control import errors, names
from coldpress.emulate.control.calls import Said, is_plain, mapping, now, one_of, text, whole
from coldpress.emulate.control.store import Config
from coldpress.emulate.sandboxes.settings import Settings
from coldpress.package.libraries import host_architecture

_ROLE = re.compile(r"arn:aws[a-zA-Z-]*:iam::\d{12}:role/[a-zA-Z_0-9+=,.@\-/]+")
_VARIABLE = re.compile(r"[a-zA-Z][a-zA-Z0-9_]+")
_RUNTIME = re.compile(r"python3\.\d+|provided(\.al2|\.al2023)?|nodejs\d+\.x|java\d+(\.al2)?|ruby\d\.\d|dotnet\d+")
_LARGEST_ENVIRONMENT = 4096
#: what Lambda sets itself
_RESERVED = frozenset(
    (
        "_HANDLER",
        "_X_AMZN_TRACE_ID",
        "AWS_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_DEFAULT_REGION",
        "AWS_EXECUTION_ENV",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
        "AWS_LAMBDA_FUNCTION_NAME",
        "AWS_LAMBDA_FUNCTION_VERSION",
        "AWS_LAMBDA_INITIALIZATION_TYPE",
        "AWS_LAMBDA_LOG_GROUP_NAME",
        "AWS_LAMBDA_LOG_STREAM_NAME",
        "AWS_LAMBDA_MAX_CONCURRENCY",
        "AWS_LAMBDA_RUNTIME_API",
        "AWS_REGION",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "LAMBDA_RUNTIME_DIR",
        "LAMBDA_TASK_ROOT",
    )
)
#: what would change how a function runs and cannot be done here
_NOT_HERE = {
    "Layers": "serve a folder as /opt with: coldpress serve DIR --layers FOLDER",
    "FileSystemConfigs": "there is no EFS here",
    "ImageConfig": "functions that are deployed here come as zips",
    "CodeSigningConfigArn": "signatures of code are not checked here",
    "CapacityProviderConfig": "there are no Managed Instances here; coldpress serve DIR --at-once N is like one",
    "DurableConfig": "there are no durable functions here",
    "TenancyConfig": "tenants are not kept apart here",
}
#: what does not make another version of it
_BESIDE = ("Version", "RevisionId", "LastModified", "Description")


def said_in(body: Said) -> Config:
    """What a request says, checked, in the form in which Lambda tells it."""
    for name, instead in _NOT_HERE.items():
        if body.get(name):
            raise errors.invalid(f"{name} is not possible in this local Lambda: {instead}")
    if (mapping(body, "VpcConfig") or {}).get("SubnetIds"):
        raise errors.invalid("VpcConfig is not possible in this local Lambda: functions here have no VPC")
    said: Config = {
        "Role": _role(body),
        "Handler": text(body, "Handler", 128),
        "Description": text(body, "Description", 256),
        "Timeout": whole(body, "Timeout", 1, 900),
        "MemorySize": whole(body, "MemorySize", 128, 10240),
        "Runtime": _runtime(body),
        "KMSKeyArn": text(body, "KMSKeyArn", 2048) or None,
    }
    if (given := mapping(body, "Environment")) is not None:
        said["Environment"] = {"Variables": _variables(given)}
    if (given := mapping(body, "TracingConfig")) is not None:
        said["TracingConfig"] = {"Mode": one_of(given, "Mode", ("PassThrough", "Active")) or "PassThrough"}
    if (given := mapping(body, "EphemeralStorage")) is not None:
        said["EphemeralStorage"] = {"Size": whole(given, "Size", 512, 10240) or 512}
    if (given := mapping(body, "SnapStart")) is not None:
        said["SnapStart"] = {"ApplyOn": one_of(given, "ApplyOn", ("None", "PublishedVersions")) or "None"}
    if (given := mapping(body, "LoggingConfig")) is not None:
        said["LoggingConfig"] = _logging(given)
    if given := mapping(body, "DeadLetterConfig"):
        said["DeadLetterConfig"] = {"TargetArn": text(given, "TargetArn", 2048) or ""}
    return {name: value for name, value in said.items() if value is not None}


def architectures_of(body: Said) -> list[str]:
    given, here = body.get("Architectures") or ["x86_64"], host_architecture()
    if given not in (["x86_64"], ["arm64"]):
        raise errors.invalid(f"Architectures is {given!r}: it can be ['x86_64'] or ['arm64']")
    if given != [here]:
        raise errors.invalid(f"Architectures is {given!r} and this machine is {here}: build it with --arch {here}")
    return [here]


def new(name: str, body: Said) -> Config:
    """A new function's; the code is not in it yet."""
    package = one_of(body, "PackageType", ("Zip", "Image")) or "Zip"
    if package == "Image":
        raise errors.invalid(
            "PackageType Image: functions that are deployed here come as zips; "
            "an image is run by itself with: coldpress serve image:NAME"
        )
    said = said_in(body)
    for wanted in ("Role", "Runtime", "Handler"):
        if wanted not in said:
            raise errors.invalid(f"{wanted} is missing: functions that come as a zip need it")
    config = {
        "Description": "",
        "Timeout": 3,
        "MemorySize": 128,
        "TracingConfig": {"Mode": "PassThrough"},
        "EphemeralStorage": {"Size": 512},
        "SnapStart": {"ApplyOn": "None"},
        "LoggingConfig": {"LogFormat": "Text"},
        "PackageType": package,
        "Architectures": architectures_of(body),
        "Version": names.LATEST,
        **said,
    }
    config["LoggingConfig"].setdefault("LogGroup", f"/aws/lambda/{name}")
    return stamped(config)


def stamped(config: Config) -> Config:
    """The same, changed now."""
    return {**config, "LastModified": now(), "RevisionId": str(uuid4())}


def is_same(one: Config, other: Config) -> bool:
    """Whether two versions would run alike."""

    def bare(config: Config) -> Config:
        return {name: value for name, value in config.items() if name not in _BESIDE}

    return bare(one) == bare(other)


def told(name: str, config: Config, qualifier: str, status: Said) -> Said:
    """A FunctionConfiguration, as asked for by a qualifier or without one."""
    snap = config["SnapStart"]["ApplyOn"]
    ready = snap == "PublishedVersions" and config["Version"] != names.LATEST
    shown = {
        "FunctionName": name,
        "FunctionArn": names.arn(name, qualifier),
        **config,
        "SnapStart": {"ApplyOn": snap, "OptimizationStatus": "On" if ready else "Off"},
        **status,
    }
    if not shown.get("Environment", {}).get("Variables"):
        shown.pop("Environment", None)
    return shown


@dataclass(frozen=True)
class VersionSettings(Settings):
    """How one version is run."""

    version: str = names.LATEST
    handler: str = ""
    runtime: str = ""
    tmp_mb: int = 512

    def environment(self, sandbox: str, kind: str) -> dict[str, str]:
        made = super().environment(sandbox, kind)
        own = {
            "_HANDLER": self.handler,
            "AWS_EXECUTION_ENV": f"AWS_Lambda_{self.runtime}",
            "AWS_LAMBDA_FUNCTION_VERSION": self.version,
            "AWS_LAMBDA_LOG_STREAM_NAME": made["AWS_LAMBDA_LOG_STREAM_NAME"].replace(names.LATEST, self.version),
        }
        return {**made, **own}


def settings_of(name: str, config: Config, *, idle: float, most: int) -> VersionSettings:
    published = config["Version"] != names.LATEST
    return VersionSettings(
        name=name,
        memory_mb=config["MemorySize"],
        timeout=float(config["Timeout"]),
        concurrency=most,
        idle=idle,
        env=dict(config.get("Environment", {}).get("Variables", {})),
        snap_start=published and config["SnapStart"]["ApplyOn"] == "PublishedVersions",
        json_log=config["LoggingConfig"]["LogFormat"] == "JSON",
        arch=config["Architectures"][0],
        version=config["Version"],
        handler=config["Handler"],
        runtime=config["Runtime"],
        tmp_mb=config["EphemeralStorage"]["Size"],
    )


def _role(body: Said) -> str | None:
    role = text(body, "Role", 2048)
    if role is not None and not _ROLE.fullmatch(role):
        raise errors.invalid(f"Role is {role!r}: it must be like arn:aws:iam::012345678912:role/NAME")
    return role


def _runtime(body: Said) -> str | None:
    runtime = text(body, "Runtime", 64)
    if runtime is not None and not _RUNTIME.fullmatch(runtime):
        raise errors.invalid(f"Runtime is {runtime!r}: it must be like python3.13 or provided.al2023")
    return runtime


def _variables(given: Said) -> dict[str, str]:
    variables: dict[str, Any] = mapping(given, "Variables") or {}
    for name, value in variables.items():
        if not _VARIABLE.fullmatch(name) or not is_plain(value):
            raise errors.invalid(
                f"the variable {name[:64]!r}: names are a letter, then letters, digits and _; values are texts"
            )
    if reserved := sorted(_RESERVED & variables.keys()):
        raise errors.invalid(
            "Lambda was unable to configure your environment variables because the environment variables you have "
            "provided contains reserved keys that are currently not supported for modification. "
            f"Reserved keys used in this request: {', '.join(reserved)}"
        )
    size = sum(len(f"{name}{value}".encode()) for name, value in variables.items())
    if size > _LARGEST_ENVIRONMENT:
        raise errors.invalid(
            "Lambda was unable to configure your environment variables because the environment variables you have "
            f"provided exceeded the 4KB limit: they have {size} bytes of {_LARGEST_ENVIRONMENT}"
        )
    return variables


def _logging(given: Said) -> dict[str, str]:
    levels = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
    said = {
        "LogFormat": one_of(given, "LogFormat", ("JSON", "Text")) or "Text",
        "ApplicationLogLevel": one_of(given, "ApplicationLogLevel", levels),
        "SystemLogLevel": one_of(given, "SystemLogLevel", ("DEBUG", "INFO", "WARN")),
        "LogGroup": text(given, "LogGroup", 512),
    }
    return {name: value for name, value in said.items() if value is not None}
